import type { Link } from '../../src/links/layout.ts';
import type { StoredLinkBytes } from '../../src/links/stored-link-bytes.ts';

/** A link that was loaded as stored bytes, as one that was put. */
export function loadedLink(stored: StoredLinkBytes): Link {
  const { bytes, keyStart, keyEnd, targetEnd, codeNo, workspaceNo, expiresAtMs, state } = stored;
  return {
    key: bytes.toString('latin1', keyStart, keyEnd),
    target: bytes.toString('latin1', keyEnd, targetEnd),
    codeNo,
    workspaceNo,
    expiresAtMs,
    scansLeft: -1,
    state,
  };
}
