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

const noTls: TlsFiles = { tlsCertFile: '', tlsKeyFile: '' };
