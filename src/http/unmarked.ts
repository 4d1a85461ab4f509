/**
 * Answers of this thread do not name the HTTP library. uWS writes a `uWebSockets` header with its major version
 * into each answer unless its loop is told not to, by a call that its types leave out; a loop belongs to
 * a thread, so each thread that listens calls this. What uWS refuses itself (400, 505) still names it.
 */
import * as uWS from 'uWebSockets.js';

declare module 'uWebSockets.js' {
  // oxlint-disable-next-line no-underscore-dangle -- the library's name
  function _cfg(key: 'silent'): void;
}

export function leaveOutLibraryName(): void {
  // oxlint-disable-next-line no-underscore-dangle -- the library's name
  uWS._cfg('silent');
}
