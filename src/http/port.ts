/**
 * Checks a port with a plain socket before uWS listens. uWS uses SO_REUSEPORT so that threads can share a port: a second
 * process of the same user would silently take half of the requests. And uWS gives no reason when it fails.
 */
import { createServer } from 'node:net';

/** An unusable listen address. The process prints the message and exits. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another process, expected a free port',
  EACCES: 'this user may not listen there, expected a port above 1023 or the right to bind it',
  EADDRNOTAVAIL: 'this machine has no such address, expected one of its own',
  ENOTFOUND: 'the host name is unknown, expected an address of this machine',
};

export async function assertPortFree(host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? 'unknown error';
      const reason = reasons[code] ?? `the system answered ${code}, expected a usable address`;
      reject(new ListenError(`Cannot listen on ${host}:${port}: ${reason}`));
    });
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
