/** src/cluster/links/link-frames.ts: frames survive any cut, and other bytes are refused. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packPlain } from '../../../src/store/codec.ts';
import { linkBlockBytesMax } from '../../../src/store/management/link-blocks.ts';
import {
  encodeFrame,
  type LinkFrame,
  LinkFrameDecoder,
  LinkFrameError,
} from '../../../src/cluster/links/link-frames.ts';

const count = fc.nat().map((half) => half * 2 ** 20);
const word = fc.integer({ min: 0, max: 0xffffffff });
const frame: fc.Arbitrary<LinkFrame> = fc.oneof(
  fc.record({ kind: fc.constant('reset' as const), cluster: fc.string({ maxLength: 64 }) }),
  fc.record({
    kind: fc.constant('block' as const),
    blockNo: word,
    bytes: fc.uint8Array({ maxLength: 4_000 }).map((bytes) => Buffer.from(bytes)),
  }),
  fc.record({ kind: fc.constant('change' as const), number: count, codeNo: word }),
  fc.record({ kind: fc.constant('used' as const), codeNo: word, scans: count }),
  fc.record({ kind: fc.constant('at' as const), number: count }),
  fc.record({ kind: fc.constant('beat' as const), number: count, isCurrent: fc.boolean() }),
  fc.record({
    kind: fc.constant('pages' as const),
    number: count,
    workspaceNo: word,
    json: fc.string({ unit: 'grapheme', maxLength: 400 }),
  }),
);

it('reads what was encoded, however it is cut', () => {
  const cases = fc.tuple(fc.array(frame, { maxLength: 20 }), fc.integer({ min: 1, max: 700 }));
  fc.assert(
    fc.property(cases, ([frames, pieceBytes]) => {
      const bytes = Buffer.concat(frames.map(encodeFrame));
      const decoder = new LinkFrameDecoder();
      const read: LinkFrame[] = [];
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        read.push(...decoder.read(bytes.subarray(at, at + pieceBytes)));
      }
      expect(read).toEqual(frames);
    }),
  );
});

it('takes a block of the longest links', () => {
  const bytes = Buffer.alloc(linkBlockBytesMax, 7);
  const encoded = encodeFrame({ kind: 'block', blockNo: 3, bytes });
  const [read, ...more] = new LinkFrameDecoder().read(encoded);
  expect([read?.kind, more]).toEqual(['block', []]);
  // Two megabytes in detail would take seconds.
  if (read?.kind === 'block') expect([read.blockNo, bytes.equals(read.bytes)]).toEqual([3, true]);
});

const framed = (fields: unknown): Buffer => {
  const packed = packPlain(fields);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(packed.length);
  return Buffer.concat([length, packed]);
};

it.each([
  ['longer than any frame', Buffer.from([0, 0, 0, 1, 2])],
  ['without a kind', Buffer.from([0, 0, 0, 0, 0])],
  ['that is not msgpack', Buffer.from([2, 0, 0, 0, 0xc1, 0xc1])],
  ['of an unknown kind', framed(['other', 1])],
  ['that lacks a field', framed(['change', 1])],
  ['whose number is not a count', framed(['at', -1])],
  ['whose block is not bytes', framed(['block', 1, 'bytes'])],
])('refuses a frame %s', (_what, bytes) => {
  expect(() => new LinkFrameDecoder().read(bytes)).toThrow(LinkFrameError);
});
