/**
 * Who the webhooks of the demo go to: a small server in the process of the demo, on this machine alone. One path takes all,
 * the other refuses all, so that both kinds of deliveries can be seen.
 */
import { createServer } from 'node:http';
import { systemErrorCode } from '../../model/failure.ts';

const host = '127.0.0.1';
/** What the configuration of the demo opens for its webhooks, and no more. */
export const receiverNetwork = `${host}/32`;
export const receiverPort = 8_082;
export const paths = { taking: '/orders', refusing: '/old-register' } as const;

export interface Receiver {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

/** @param port the next best where it is taken */
export async function openReceiver(port: number): Promise<Receiver> {
  const server = createServer((request, response) => {
    // Read to its end, so that the connection can be used again.
    request.resume().on('end', () => {
      const isTaken = request.url === paths.taking;
      response.writeHead(isTaken ? 200 : 503, { 'content-type': 'text/plain' });
      response.end(isTaken ? 'ok' : 'The register in the basement is switched off.');
    });
  });
  const listen = (wanted: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(wanted, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(port).catch(async (error: unknown) => {
    if (systemErrorCode(error) !== 'EADDRINUSE') throw error;
    await listen(0);
  });
  // It keeps no process alive: the service does.
  server.unref();
  const address = server.address();
  const used = typeof address === 'object' && address !== null ? address.port : port;
  return {
    port: used,
    url: `http://${host}:${used}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
