/** Receives the webhooks of the demo, in its process, on this machine alone. One path takes all, the other refuses all. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { systemErrorCode } from '../../model/failure.ts';

const host = '127.0.0.1';
/** What the configuration of the demo opens for its webhooks, and no more. */
export const receiverNetwork = `${host}/32`;
export const paths = { taking: '/orders', refusing: '/old-register' } as const;

/** It keeps no process alive. @param wanted a port; the next best where it is taken */
export async function openReceiver(wanted: number) {
  const server = createServer((request, response) => {
    // Read to its end, so that the connection can be used again.
    request.resume().on('end', () => {
      const isTaken = request.url === paths.taking;
      response.writeHead(isTaken ? 200 : 503, { 'content-type': 'text/plain' });
      response.end(isTaken ? 'ok' : 'The register in the basement is switched off.');
    });
  }).unref();
  await once(server.listen(wanted, host), 'listening').catch((error: unknown) => {
    if (systemErrorCode(error) !== 'EADDRINUSE') throw error;
    return once(server.listen(0, host), 'listening');
  });
  const { port = wanted }: { readonly port?: number } = Object(server.address());
  return {
    port,
    url: `http://${host}:${port}`,
    async close() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}
