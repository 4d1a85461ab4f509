/** An answer as bytes and numbers, as a message carries it from the thread that reads (raw-queries.ts). */
import { Sketch } from '../../../model/sketch/sketch.ts';
import { ByteReader, ByteWriter } from '../../bytes.ts';
import { Rollup } from '../../rollup.ts';
import type { RawAnswer } from './raw-query.ts';

export interface PackedRawAnswer {
  readonly rollup: Uint8Array;
  readonly inline: Uint8Array;
  readonly chunks: ReadonlyArray<Uint8Array | undefined>;
  readonly quarters: readonly Float64Array[];
  readonly codes: Uint32Array;
  readonly scansOfCodes: Uint32Array;
  readonly all: readonly number[];
  readonly damagedBlocks: number;
}

/** Views are copied: a message carries the whole buffer of each. */
export function packRollup(rollup: Rollup): Uint8Array {
  const writer = new ByteWriter();
  rollup.write(writer);
  return writer.take().slice();
}

export function packSketch(sketch: Sketch): Pick<PackedRawAnswer, 'inline' | 'chunks'> {
  const chunks: Array<Uint8Array | undefined> = [];
  for (const index of sketch.dirtyChunks()) chunks[index] = sketch.chunkBytes(index).slice();
  return { inline: sketch.inlineBytes().slice(), chunks };
}

export function unpackAnswer(packed: PackedRawAnswer, names: number): RawAnswer {
  const reader = new ByteReader(packed.rollup);
  const { codes, scansOfCodes, quarters, all, damagedBlocks } = packed;
  return {
    rollup: Rollup.read(reader, names),
    sketch: Sketch.fromParts(packed.inline, (index) => packed.chunks[index]),
    quarters,
    codes: new Map(Array.from(codes, (codeNo, at) => [codeNo, scansOfCodes[at]!])),
    all,
    damagedBlocks,
  };
}
