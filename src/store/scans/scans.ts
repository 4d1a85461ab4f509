/**
 * The `scans` environment: written by the shards, read by everyone.
 *
 *   heads        code u32                      the code's summary: total, newest block, newest day
 *   days         code u32 | day u16 | piece u8  a piece of a closed day (scans/days/day.ts): rollup and inline sketch;
 *                                              the first piece, mostly the only one, has no number in its key
 *   months       code u32 | month u16          sum and union of a month's closed days
 *   chunks       code u32 | span u16 | i u8    a sketch's chunk; span = day, or 0xf000 + month; i = piece * 16 + chunk
 *   blocks       sequence                      one window of one shard: raw scans, outbox of qr.scanned
 *   merged_blocks  sequence of the first       many small blocks in one (scans/query/raw/merged-blocks.ts)
 *   watermarks   journal * 64 + partition      journal position below which every scan is in a block
 *   checkpoints  0 codes, 1 workspaces         64 f64: sequence up to which a partition's blocks are in summaries
 *   code_counts  workspace u32 | chunk u32 | span u16 | piece u8   scans by code of a day's piece or a month,
 *                                              4,096 codes a chunk; the first piece has no number in its key
 *   frozen       code u32                      sequence: the code's records are damaged, and miss the blocks after it
 *   meta         name                          sequence, schemaVersion, mergedTo
 *
 * Keys are big-endian, so a code's records stand together in time order. A workspace's sums are kept as a
 * code's are, under a number from the upper end that no code has (`workspaceCounter`).
 */
import { partitionCount } from '../../model/code.ts';
import type { OpenMode, StoreEnvironment, Table, ValueTable } from '../environment.ts';
import {
  type EnvironmentVersion,
  type Migration,
  openEnvironment,
  checksumsFromHere,
} from '../open-environment.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

export interface ScanStore {
  readonly environment: StoreEnvironment;
  readonly summaries: Table<number, Uint8Array>;
  readonly days: ValueTable<Uint8Array, Uint8Array>;
  readonly months: Table<Uint8Array, Uint8Array>;
  readonly chunks: ValueTable<Uint8Array, Uint8Array>;
  readonly blocks: ValueTable<number, Uint8Array>;
  readonly mergedBlocks: ValueTable<number, Uint8Array>;
  readonly watermarks: Table<number, number>;
  readonly checkpoints: Table<number, Uint8Array>;
  readonly codeCounts: Table<Uint8Array, Uint8Array>;
  readonly frozen: Table<number, number>;
  readonly meta: Table<string, number>;
}

/** Changes nothing: from this version on blocks and rollups may have routes, which older programs cannot read. */
const routesFromHere: Migration = () => undefined;
/** Changes nothing: from this version on rollups may have quarters of hours, and days several pieces. */
const quartersFromHere: Migration = () => undefined;

export const scansVersion: EnvironmentVersion = {
  version: 4,
  migrations: [checksumsFromHere, routesFromHere, quartersFromHere],
  versionKey: 'schemaVersion',
};

/** Opens the environment; refuses data of a newer release. */
export function openScanStore(path: string, mode: OpenMode = 'existing'): ScanStore {
  const { environment, meta } = openEnvironment(path, scansVersion, mode);
  const binary = { key: 'binary', value: 'binary' } as const;
  return {
    environment,
    summaries: environment.table('heads', { key: 'uint32', value: 'binary' }),
    days: environment.table('days', binary),
    months: environment.table('months', binary),
    chunks: environment.table('chunks', binary),
    blocks: environment.table('blocks', { value: 'binary' }),
    mergedBlocks: environment.table('merged_blocks', { value: 'binary', isDerived: true }),
    watermarks: openWatermarks(environment),
    checkpoints: environment.table('checkpoints', {
      key: 'uint32',
      value: 'binary',
      uncheckedBytes: partitionCount * 8,
    }),
    codeCounts: environment.table('code_counts', binary),
    frozen: environment.table('frozen', { key: 'uint32' }),
    meta,
  };
}

/** Alone, for a file whose data is not to be migrated. */
export const openWatermarks = (environment: StoreEnvironment): ScanStore['watermarks'] =>
  environment.table('watermarks', { key: 'uint32' });

const spanKeyBytes = 6;

/** Key of a month of a code, or of a piece of a day. */
export function spanKey(codeNo: CodeNo, span: number, piece = 0): Buffer {
  const key = Buffer.allocUnsafe(spanKeyBytes + (piece === 0 ? 0 : 1));
  key.writeUInt32BE(codeNo, 0);
  key.writeUInt16BE(span, 4);
  if (piece > 0) key[spanKeyBytes] = piece;
  return key;
}
export const spanOf = (key: Uint8Array): number => (key[4]! << 8) | key[5]!;
export const pieceOf = (key: Uint8Array): number => key[spanKeyBytes] ?? 0;

const monthSpanFirst = 0xf000;
/** Distinguishes a month's chunks from a day's. */
export const monthSpan = (month: number): number => monthSpanFirst + month;
/** The last day that has keys of its own, in March 2138: scans of a clock beyond it count on it. */
export const dayStoredMax = monthSpanFirst - 1;

export function chunkKey(codeNo: CodeNo, span: number, index: number): Buffer {
  const key = Buffer.allocUnsafe(7);
  key.writeUInt32BE(codeNo, 0);
  key.writeUInt16BE(span, 4);
  key[6] = index;
  return key;
}

export const indexOfChunk = (key: Uint8Array): number => key[6]!;

/** The highest position of a journal that any partition has in the store. */
export function highestWatermark(store: ScanStore, journal: number): number {
  let highest = 0;
  for (let partition = 0; partition < partitionCount; partition++) {
    highest = Math.max(highest, store.watermarks.get(journal * partitionCount + partition) ?? 0);
  }
  return highest;
}

/** By journal: the position below which every scan is in the store. */
export function lowestWatermarks(store: Pick<ScanStore, 'watermarks'>): Map<number, number> {
  const marks = new Map<number, number[]>();
  for (const { key, value } of store.watermarks.range({})) {
    const journal = Math.floor(key / partitionCount);
    marks.set(journal, [...(marks.get(journal) ?? []), value]);
  }
  // A partition without a mark has counted nothing.
  const lowest = (values: readonly number[]): number =>
    values.length < partitionCount ? 0 : Math.min(...values);
  return new Map([...marks].map(([journal, values]) => [journal, lowest(values)]));
}

/** Counters from here up are workspaces: 16 million of them, and 4.2 billion codes below. */
export const workspaceCountersFirst = 0xff00_0000;
const counterMax = 0xffff_ffff;
/** What a workspace's sums are stored under in place of a code's number. */
export const workspaceCounter = (workspaceNo: WorkspaceNo): number => counterMax - workspaceNo;
/** The workspace of such a number, undefined for a code's. */
export const workspaceOfCounter = (counter: number): number | undefined =>
  counter >= workspaceCountersFirst ? counterMax - counter : undefined;

/** Whose numbers a checkpoint, or a rollup, is about. */
export type Counted = 'codes' | 'workspaces';
export const countedBy = (counter: number): Counted =>
  workspaceOfCounter(counter) === undefined ? 'codes' : 'workspaces';
const checkpointKeys: Readonly<Record<Counted, number>> = { codes: 0, workspaces: 1 };

/** By partition: the sequence up to which its blocks are in summaries, days and months. */
export function readCheckpoints(store: ScanStore, of: Counted = 'codes'): Float64Array {
  const checkpoints = new Float64Array(partitionCount);
  const stored = store.checkpoints.get(checkpointKeys[of]);
  if (stored === undefined) return checkpoints;
  const view = new DataView(stored.buffer, stored.byteOffset, stored.byteLength);
  for (let at = 0; at < partitionCount; at++) checkpoints[at] = view.getFloat64(at * 8, true);
  return checkpoints;
}

/** Moves some partitions' checkpoints; inside the transaction that saves their numbers. */
export function putCheckpoints(
  store: ScanStore,
  partitions: readonly number[],
  sequence: number,
  of: Counted = 'codes',
): void {
  const checkpoints = readCheckpoints(store, of);
  for (const partition of partitions) checkpoints[partition] = sequence;
  writeCheckpoints(store, checkpoints, of);
}

export function writeCheckpoints(store: ScanStore, checkpoints: Float64Array, of: Counted): void {
  const bytes = Buffer.alloc(partitionCount * 8);
  checkpoints.forEach((checkpoint, at) => bytes.writeDoubleLE(checkpoint, at * 8));
  store.checkpoints.put(checkpointKeys[of], bytes);
}

/** Sequence of the newest block, 0 without blocks. */
export const newestSequence = (store: ScanStore): number => store.meta.get('sequence') ?? 0;
