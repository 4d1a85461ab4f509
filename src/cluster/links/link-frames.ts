/**
 * The frames of the feed of links, from a core to an edge (link-feed.ts):
 *
 *   frame    | bytes u32, little-endian: of what follows | msgpack array: kind, fields |
 *
 *   reset    cluster                     all blocks follow, by number: the edge must not trust what it has
 *   block    blockNo, its bytes          links as they are now (store/management/link-blocks.ts)
 *   change   number, codeNo              the link of the code has changed; its block comes before, in the same piece
 *   used     codeNo, scans               of a limited code, counted so far in the whole cluster
 *   at       number                      ends what `reset` began: the blocks have all changes up to it
 *   pages    number, workspaceNo, JSON   what a workspace says on its pages (model/routing/pages.ts)
 *   beat     number, isCurrent           every half a second: the last change of the core, and whether it follows the log
 */
import type { CodeNo } from '../../model/numbers.ts';
import { packPlain } from '../../store/codec.ts';
import { linkBlockBytesMax } from '../../store/management/link-blocks.ts';
import { isCount, readFields } from '../message-fields.ts';

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

const lengthBytes = 4;
const frameBytesMax = linkBlockBytesMax + 128;

/** The bytes are not frames: the connection is useless. */
export class LinkFrameError extends Error {
  override readonly name = 'LinkFrameError';
}

export function encodeFrame(frame: LinkFrame): Buffer {
  const fields = packPlain([frame.kind, ...fieldsOf(frame)]);
  const bytes = Buffer.allocUnsafe(lengthBytes + fields.length);
  bytes.writeUInt32LE(fields.length, 0);
  bytes.set(fields, lengthBytes);
  return bytes;
}

function fieldsOf(frame: LinkFrame): unknown[] {
  if (frame.kind === 'reset') return [frame.cluster];
  if (frame.kind === 'block') return [frame.blockNo, frame.bytes];
  if (frame.kind === 'change') return [frame.number, frame.codeNo];
  if (frame.kind === 'used') return [frame.codeNo, frame.scans];
  if (frame.kind === 'at') return [frame.number];
  if (frame.kind === 'beat') return [frame.number, frame.isCurrent];
  return [frame.number, frame.workspaceNo, frame.json];
}

/** Reads frames from pieces that are cut anywhere. Holds at most one incomplete frame. */
export class LinkFrameDecoder {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that end in `piece`. @throws LinkFrameError */
  read(piece: Uint8Array): LinkFrame[] {
    const bytes = Buffer.concat([this.#rest, piece]);
    const frames: LinkFrame[] = [];
    let at = 0;
    while (at + lengthBytes <= bytes.length) {
      const length = bytes.readUInt32LE(at);
      if (length > frameBytesMax) {
        throw new LinkFrameError(`Cannot read links: a frame has ${length} bytes`);
      }
      const end = at + lengthBytes + length;
      if (end > bytes.length) break;
      frames.push(decode(bytes.subarray(at + lengthBytes, end)));
      at = end;
    }
    // A copy: what is left would keep the whole piece.
    this.#rest = Buffer.from(bytes.subarray(at));
    return frames;
  }
}

function decode(bytes: Uint8Array): LinkFrame {
  const [kind, a, b, c] = readFields(bytes) ?? [];
  if (kind === 'reset' && typeof a === 'string') return { kind, cluster: a };
  if (isCount(a)) {
    if (kind === 'block' && b instanceof Uint8Array) return { kind, blockNo: a, bytes: b };
    if (kind === 'change' && isCount(b)) return { kind, number: a, codeNo: b };
    if (kind === 'used' && isCount(b)) return { kind, codeNo: a, scans: b };
    if (kind === 'at') return { kind, number: a };
    if (kind === 'beat' && typeof b === 'boolean') return { kind, number: a, isCurrent: b };
    if (kind === 'pages' && isCount(b) && typeof c === 'string') {
      return { kind, number: a, workspaceNo: b, json: c };
    }
  }
  throw new LinkFrameError('Cannot read links: a frame has an unknown kind or wrong fields');
}
