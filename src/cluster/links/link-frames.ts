/**
 * The frames of the feed of links, from a core to an edge (link-feed.ts):
 *
 *   frame    | bytes u32: of what follows | kind u8 | fields |            little-endian
 *
 *   reset    cluster, UTF-8              what the edge has is not to be trusted: all blocks follow, by number
 *   block    blockNo u32, its bytes      links as they are now (store/management/link-blocks.ts)
 *   change   number f64, codeNo u32      the link of the code has changed; its block stands before, in the same piece
 *   used     codeNo u32, scans f64       of a limited code, counted so far in the whole cluster
 *   at       number f64                  ends what `reset` began: the blocks have all changes up to it
 *   pages    number f64, workspaceNo u32, JSON   what a workspace says on its pages (model/routing/pages.ts), for edges that ask
 *   beat     number f64, isCurrent u8    every half a second: the last change of the core, and whether it follows the log
 */
import type { CodeNo } from '../../model/numbers.ts';
import { linkBlockBytesMax } from '../../store/management/link-blocks.ts';

export type LinkFrame =
  | { readonly kind: 'reset'; readonly cluster: string }
  | { readonly kind: 'block'; readonly blockNo: number; readonly bytes: Uint8Array }
  | { readonly kind: 'change'; readonly number: number; readonly codeNo: CodeNo }
  | { readonly kind: 'used'; readonly codeNo: CodeNo; readonly scans: number }
  | { readonly kind: 'at'; readonly number: number }
  | { readonly kind: 'beat'; readonly number: number; readonly isCurrent: boolean }
  | {
      readonly kind: 'pages';
      readonly number: number;
      readonly workspaceNo: number;
      readonly json: string;
    };

const kinds = ['reset', 'block', 'change', 'used', 'at', 'beat', 'pages'] as const;
const kindByte = Object.fromEntries(kinds.map((kind, index) => [kind, index + 1]));

const lengthBytes = 4;
const headBytes = lengthBytes + 1;
const fieldBytesMax = linkBlockBytesMax + 64;

/** The other side speaks something else: the connection is of no use. */
export class LinkFrameError extends Error {
  override readonly name = 'LinkFrameError';
}

export function encodeFrame(frame: LinkFrame): Buffer {
  if (frame.kind === 'reset') {
    const text = Buffer.from(frame.cluster);
    const bytes = begin(frame.kind, text.length);
    bytes.set(text, headBytes);
    return bytes;
  }
  if (frame.kind === 'block') {
    const bytes = begin(frame.kind, 4 + frame.bytes.length);
    bytes.writeUInt32LE(frame.blockNo, headBytes);
    bytes.set(frame.bytes, headBytes + 4);
    return bytes;
  }
  if (frame.kind === 'used') {
    const bytes = begin(frame.kind, 12);
    bytes.writeUInt32LE(frame.codeNo, headBytes);
    bytes.writeDoubleLE(frame.scans, headBytes + 4);
    return bytes;
  }
  if (frame.kind === 'pages') {
    const text = Buffer.from(frame.json);
    const bytes = begin(frame.kind, 12 + text.length);
    bytes.writeDoubleLE(frame.number, headBytes);
    bytes.writeUInt32LE(frame.workspaceNo, headBytes + 8);
    bytes.set(text, headBytes + 12);
    return bytes;
  }
  const bytes = begin(frame.kind, { change: 12, at: 8, beat: 9 }[frame.kind]);
  bytes.writeDoubleLE(frame.number, headBytes);
  if (frame.kind === 'change') bytes.writeUInt32LE(frame.codeNo, headBytes + 8);
  if (frame.kind === 'beat') bytes[headBytes + 8] = frame.isCurrent ? 1 : 0;
  return bytes;
}

function begin(kind: LinkFrame['kind'], fieldBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + fieldBytes);
  bytes.writeUInt32LE(1 + fieldBytes, 0);
  bytes[lengthBytes] = kindByte[kind] ?? 0;
  return bytes;
}

/** Frames out of pieces that are cut anywhere. Holds one frame that is not complete at most. */
export class LinkFrameDecoder {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that end in `piece`; their bytes stand in it. @throws LinkFrameError */
  read(piece: Uint8Array): LinkFrame[] {
    const given = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const bytes = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given]);
    const frames: LinkFrame[] = [];
    let at = 0;
    while (at + headBytes <= bytes.length) {
      const length = bytes.readUInt32LE(at);
      if (length < 1 || length > 1 + fieldBytesMax) {
        throw new LinkFrameError(`Cannot read links: a frame has ${length} bytes`);
      }
      const end = at + lengthBytes + length;
      if (end > bytes.length) break;
      frames.push(decode(bytes[at + lengthBytes] ?? 0, bytes.subarray(at + headBytes, end)));
      at = end;
    }
    // A copy: what is left would keep the whole piece.
    this.#rest = Buffer.from(bytes.subarray(at));
    return frames;
  }
}

function decode(kindByteRead: number, fields: Buffer): LinkFrame {
  const kind = kinds[kindByteRead - 1];
  if (kind === undefined) {
    throw new LinkFrameError(`Cannot read links: a frame is of kind ${kindByteRead}`);
  }
  try {
    return readers[kind](fields);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new LinkFrameError(`Cannot read links: a frame "${kind}" is cut short`);
  }
}

const readers: Readonly<Record<LinkFrame['kind'], (fields: Buffer) => LinkFrame>> = {
  reset: (fields) => ({ kind: 'reset', cluster: fields.toString() }),
  block: (fields) => ({
    kind: 'block',
    blockNo: fields.readUInt32LE(0),
    bytes: fields.subarray(4),
  }),
  change: (fields) => ({
    kind: 'change',
    number: count(fields, 0),
    codeNo: fields.readUInt32LE(8),
  }),
  used: (fields) => ({ kind: 'used', codeNo: fields.readUInt32LE(0), scans: count(fields, 4) }),
  at: (fields) => ({ kind: 'at', number: count(fields, 0) }),
  beat: (fields) => ({
    kind: 'beat',
    number: count(fields, 0),
    isCurrent: fields.readUInt8(8) === 1,
  }),
  pages: (fields) => ({
    kind: 'pages',
    number: count(fields, 0),
    workspaceNo: fields.readUInt32LE(8),
    json: fields.subarray(12).toString(),
  }),
};

function count(fields: Buffer, at: number): number {
  const value = fields.readDoubleLE(at);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new LinkFrameError(`Cannot read links: a frame has ${value} in the place of a count`);
}
