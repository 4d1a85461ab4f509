/**
 * Checks port, certificate and key before uWS listens, because uWS gives no reason when it fails. The port is tried with a
 * plain socket: uWS uses SO_REUSEPORT so that threads can share a port, so a second process of the same user would
 * silently take half of the requests.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { messageOf } from '../../model/failure.ts';

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

export interface TlsFiles {
  /** PEM, the certificate first; empty = no TLS. */
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
}

export const certificateEndMs = ({ tlsCertFile }: TlsFiles): number =>
  Date.parse(parse(tlsCertFile, 'a PEM certificate', (pem) => new X509Certificate(pem)).validTo);

export function assertTlsFiles({ tlsCertFile, tlsKeyFile }: TlsFiles): void {
  if (tlsCertFile === '') return;
  const certificate = parse(tlsCertFile, 'a PEM certificate', (pem) => new X509Certificate(pem));
  const key = parse(tlsKeyFile, 'a PEM private key', createPrivateKey);
  if (!certificate.checkPrivateKey(key)) {
    throw new ListenError(
      `Cannot use TLS: ${tlsKeyFile} is not the key of ${tlsCertFile}, expected a pair`,
    );
  }
}

function parse<Parsed>(file: string, wanted: string, read: (pem: Buffer) => Parsed): Parsed {
  try {
    return read(readFileSync(file));
  } catch (error) {
    const reason = messageOf(error);
    throw new ListenError(`Cannot use TLS file ${file}: ${reason}, expected ${wanted}`);
  }
}
