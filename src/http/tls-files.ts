/** Checks certificate and key of a listener, because uWS reports a failure without a reason. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { messageOf } from '../model/failure.ts';
import { ListenError } from './port.ts';

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
