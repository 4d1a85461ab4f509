/**
 * Whether a port can be listened on, asked of the kernel before uWS is.
 *
 * uWS listens with SO_REUSEPORT so that threads can share a port. A second process of the same user
 * would silently share it too and take half of the requests; and uWS does not say why it failed.
 * A plain socket refuses both: it is opened and closed at once.
 */
import { createServer } from 'node:net';

/** A listen address that cannot be used. The process prints the message and exits. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another process, expected a free port',
  EACCES: 'this user may not listen there, expected a port above 1023 or the right to bind it',
  EADDRNOTAVAIL: 'this machine has no such address, expected one of its own',
  ENOTFOUND: 'the host name is unknown, expected an address of this machine',
};

/** @throws ListenError with the kernel's reason */
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
