/**
 * An app of uWS, with TLS where a certificate is given.
 *
 * Its answers do not name the library: uWS writes a `uWebSockets` header with its major version into each unless
 * the loop is told not to, by a call that its types leave out. A loop belongs to a thread, so each thread that
 * listens makes that call. What uWS refuses itself (400, 431, 505) still names it.
 */
import * as uWS from 'uWebSockets.js';
import type { TlsFiles } from './tls-files.ts';

declare module 'uWebSockets.js' {
  // oxlint-disable-next-line no-underscore-dangle -- the library's name
  function _cfg(key: 'silent'): void;
}

/** @param tls the files, looked at before: uWS takes an app whose files it cannot read, and then does not listen */
export function createApp({ tlsCertFile, tlsKeyFile }: TlsFiles = noTls): uWS.TemplatedApp {
  // oxlint-disable-next-line no-underscore-dangle -- the library's name
  uWS._cfg('silent');
  if (tlsCertFile === '') return uWS.App();
  return uWS.SSLApp({ cert_file_name: tlsCertFile, key_file_name: tlsKeyFile });
}

const bytesOf = (text: string): ArrayBuffer => Uint8Array.from(Buffer.from(text, 'latin1')).buffer;

/**
 * Names of the headers that every redirect looks for, as bytes: a text is converted and copied by uWS each time it is
 * handed over, which is half the cost of a look.
 */
export const headerNames = {
  acceptLanguage: bytesOf('accept-language'),
  connection: bytesOf('connection'),
  contentLength: bytesOf('content-length'),
  forwardedFor: bytesOf('x-forwarded-for'),
  purpose: bytesOf('purpose'),
  referer: bytesOf('referer'),
  secPurpose: bytesOf('sec-purpose'),
  transferEncoding: bytesOf('transfer-encoding'),
  userAgent: bytesOf('user-agent'),
  xMoz: bytesOf('x-moz'),
} as const;

const noTls: TlsFiles = { tlsCertFile: '', tlsKeyFile: '' };
