import type { Link } from '../../src/links/layout.ts';
import type { StoredLinkBytes } from '../../src/links/writer.ts';

/** A link that was handed over as stored bytes, as one that was put. */
export function adoptedLink(stored: StoredLinkBytes): Link {
  const { bytes, keyStart, keyEnd, targetEnd, codeNo, workspaceNo, expiresAtMs, isGone } = stored;
  return {
    key: bytes.toString('latin1', keyStart, keyEnd),
    target: bytes.toString('latin1', keyEnd, targetEnd),
    codeNo,
    workspaceNo,
    expiresAtMs,
    scansLeft: -1,
    state: isGone ? 'gone' : 'live',
  };
}
