/**
 * Keys of the list's index. Every property that a list filters by is a term; a code has one key per term, in list
 * order:
 *
 *   code_terms   | workspaceNo u32 | kind u8 | length u8 | text | createdAtMs u48 | codeNo u32 |
 *
 * All numbers are big-endian, so the byte order is workspace, term, time, number. The length before the text keeps
 * one term from being a prefix of another.
 */
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Stored in the data: never change them. */
const kindBytes = { all: 1, form: 2, tag: 3, campaign: 4, logo: 6 } as const;
type TermKind = keyof typeof kindBytes;

export interface Term {
  readonly kind: TermKind;
  /** At most 255 bytes of UTF-8; for a tag its key (model/fold.ts). */
  readonly text: string;
}

export interface ListPosition {
  readonly createdAtMs: number;
  readonly no: CodeNo;
}

const headBytes = 6;
const positionBytes = 10;
const textBytesMax = 255;
const timeMsMax = 2 ** 48 - 1;
const numberMax = 2 ** 32 - 1;

export function termKey(workspaceNo: WorkspaceNo, term: Term, position: ListPosition): Buffer {
  const textBytes = Buffer.byteLength(term.text);
  if (textBytes > textBytesMax) {
    throw new Error(`Cannot make a key: term of ${textBytes} bytes, expected ${textBytesMax}`);
  }
  const at = headBytes + textBytes;
  const key = Buffer.allocUnsafe(at + positionBytes);
  key.writeUInt32BE(workspaceNo, 0);
  key[4] = kindBytes[term.kind];
  key[5] = textBytes;
  key.write(term.text, headBytes);
  key.writeUIntBE(Math.min(Math.max(0, position.createdAtMs), timeMsMax), at, 6);
  key.writeUInt32BE(position.no, at + 6);
  return key;
}

/** The keys of all codes of a workspace that have the term. */
export function termRange(
  workspaceNo: WorkspaceNo,
  term: Term,
): { readonly start: Buffer; readonly end: Buffer } {
  const key = (position: ListPosition): Buffer => termKey(workspaceNo, term, position);
  return { start: key({ createdAtMs: 0, no: 0 }), end: key(endOf(timeMsMax)) };
}

export function positionOf(key: Uint8Array): ListPosition {
  const view = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const at = view.length - positionBytes;
  return { createdAtMs: view.readUIntBE(at, 6), no: view.readUInt32BE(at + 6) };
}

/** The newest position that is older than `position`. */
export function before(position: ListPosition): ListPosition {
  return position.no > 0
    ? { createdAtMs: position.createdAtMs, no: position.no - 1 }
    : { createdAtMs: position.createdAtMs - 1, no: numberMax };
}

export function isEarlier(one: ListPosition, other: ListPosition): boolean {
  return (
    one.createdAtMs < other.createdAtMs ||
    (one.createdAtMs === other.createdAtMs && one.no < other.no)
  );
}

/** The newest position of a millisecond. */
export function endOf(timeMs: number): ListPosition {
  return { createdAtMs: Math.min(timeMs, timeMsMax), no: numberMax };
}
