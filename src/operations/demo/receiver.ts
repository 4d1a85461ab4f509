/** Receives the demo's webhooks in its process, only on this machine. One path accepts all, the other refuses all. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { systemErrorCode } from '../../model/failure.ts';

const host = '127.0.0.1';
/** The only network that the demo's configuration opens for webhooks. */
export const receiverNetwork = `${host}/32`;
export const paths = { taking: '/orders', refusing: '/old-register' } as const;

/** Does not keep the process alive. @param wanted a port; another free one if it is taken */
export async function openReceiver(wanted: number) {
  const server = createServer((request, response) => {
    // Reads to the end, so that the connection can be reused.
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
