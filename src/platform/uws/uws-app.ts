/**
 * Creates uWS apps, with TLS when there is a certificate.
 *
 * uWS adds a `uWebSockets` header with its version unless a call that its types lack turns that off for the thread's
 * loop. What uWS refuses itself (400, 431, 505) still has it.
 */
import * as uWS from 'uWebSockets.js';
import type { TlsFiles } from './port.ts';

declare module 'uWebSockets.js' {
  // oxlint-disable-next-line no-underscore-dangle -- the library's name
  function _cfg(key: 'silent'): void;
}

/** @param tls checked before (port.ts): with unreadable files uWS only fails to listen */
export function createApp({ tlsCertFile, tlsKeyFile }: TlsFiles = noTls): uWS.TemplatedApp {
  // oxlint-disable-next-line no-underscore-dangle -- the library's name
  uWS._cfg('silent');
  if (tlsCertFile === '') return uWS.App();
  return uWS.SSLApp({ cert_file_name: tlsCertFile, key_file_name: tlsKeyFile });
}

const bytesOf = (text: string): ArrayBuffer => Uint8Array.from(Buffer.from(text, 'latin1')).buffer;

/** Header names as bytes: uWS converts and copies a text in each call, half the cost of a look-up. */
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
