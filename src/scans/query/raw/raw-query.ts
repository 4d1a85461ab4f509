/**
 * A question that only raw scans answer: which of them match a filter, counted in every way at once, in spans of time. And
 * how the question and its answer cross to the thread that reads (raw-queries.ts) and back.
 */
import { Sketch } from '../../../model/sketch/sketch.ts';
import type { CodeNo, WorkspaceNo } from '../../../model/numbers.ts';
import type { Counted } from '../../../store/scans/scans.ts';
import { ByteReader, ByteWriter } from '../../bytes.ts';
import { Rollup } from '../../rollup.ts';
import type { ScanFilter } from '../filter.ts';

export const quarterMs = 900_000;

export interface RawQuery {
  readonly workspaceNo: WorkspaceNo;
  /** Absent = all of the workspace, deleted ones too. */
  readonly codes?: Uint32Array;
  /** Disjoint, ascending; they begin and end with a quarter of an hour of UTC. */
  readonly spans: readonly RawSpan[];
  /**
   * Scans that the rollups have of each span, of the same codes, whatever the filter. Reading ends when they are found; it
   * goes through all blocks that are kept where they are not.
   */
  readonly expected?: readonly number[];
  /** The last block that counts: of the snapshot that the caller's other numbers are of. */
  readonly toSequence: number;
  readonly filter: ScanFilter;
  /** Whose the labels in `filter.routes` and in the answer's rollup are. */
  readonly labelsOf: Counted;
  /** Cities, and referer hosts, that are told apart; the rest is `other`. */
  readonly names: number;
}

export interface RawSpan {
  readonly fromMs: number;
  /** Excluded. */
  readonly endMs: number;
}

export interface RawAnswer {
  /** Of what matches, as it is counted live: bots and people in vain beside the scans. */
  readonly rollup: Rollup;
  readonly sketch: Sketch;
  /** Matching scans of each span, by quarter of an hour from its start. */
  readonly quarters: readonly Float64Array[];
  /** Matching scans by code, of those that have some. */
  readonly codes: ReadonlyMap<CodeNo, number>;
  /** Scans of each span whatever the filter: fewer than the rollups have where blocks have expired, or are damaged. */
  readonly all: readonly number[];
  /** Blocks that could not be read. What they had is in no number here, and may have been of any time. */
  readonly damagedBlocks: number;
}

/** The same as bytes and numbers, which a message can carry. */
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

const format = 1;

/** Views are copied: a message carries the whole buffer of each. */
export function packRollup(rollup: Rollup): Uint8Array {
  const writer = new ByteWriter();
  writer.begin(format);
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
  reader.byte();
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

/** Eleven years: more is a mistake of the caller's. */
const quartersMax = 400_000;

/** @throws Error where it asks for what cannot be counted */
export function assertQuery({ spans, expected, names }: RawQuery): void {
  let quarters = 0;
  let endMs = -Infinity;
  for (const span of spans) {
    const isWhole = span.fromMs % quarterMs === 0 && span.endMs % quarterMs === 0;
    if (!isWhole || span.fromMs < endMs || span.endMs <= span.fromMs) {
      throw new Error(
        'Cannot query raw scans: expected disjoint, ascending spans of whole quarters',
      );
    }
    quarters += (span.endMs - span.fromMs) / quarterMs;
    endMs = span.endMs;
  }
  if (spans.length === 0 || quarters > quartersMax || names < 0) {
    throw new Error(`Cannot query raw scans: ${spans.length} spans of ${quarters} quarters`);
  }
  if (expected !== undefined && expected.length !== spans.length) {
    throw new Error(
      `Cannot query raw scans: ${expected.length} expected, of ${spans.length} spans`,
    );
  }
}
