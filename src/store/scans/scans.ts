/**
 * The `scans` environment: written by the shards, read by everyone.
 *
 *   summaries    code u32                      total, newest block, newest day
 *   days         code u32 | day u16 | piece u8  a piece of a closed day (engine/counting/days/day.ts): rollup and inline sketch;
 *                                              the first piece, mostly the only one, has no number in its key
 *   months       code u32 | month u16          sum and union of a month's closed days
 *   chunks       code u32 | span u16 | i u8    a sketch's chunk; span = day, or 0xf000 + month; i = piece * 16 + chunk
 *   blocks       sequence                      one window of one shard: raw scans, outbox of qr.scanned
 *   watermarks   journal * 64 + partition      every scan below this journal position is in a block
 *   checkpoints  0 codes, 1 workspaces         64 f64: sequence up to which a partition's blocks are in summaries
 *   code_counts  workspace u32 | chunk u32 | span u16 | piece u8   scans by code of a day's piece or a month,
 *                                              4,096 codes a chunk; the first piece has no number in its key
 *   frozen       code u32                      sequence: the code's records are damaged and lack the blocks after it
 *   block_marks  sequence | time               on a core of a cluster: how far blocks reach in the journals (block-marks.ts)
 *   meta         name                          sequence, schema
 *
 * Watermarks, checkpoints and meta are stored twice (store/twin-table.ts).
 * Keys are big-endian, so a code's records are adjacent, in time order. A workspace's sums are stored like a code's,
 * under a number from the upper end of the range (`workspaceCounter`).
 */
import { partitionCount } from '../../model/code.ts';
import type { OpenMode, StoreEnvironment, Table, ValueTable } from '../environment.ts';
import { type EnvironmentVersion, openEnvironment } from '../open-environment.ts';
import { openTwinTable } from '../twin-table.ts';
import { type BlockMarks, openBlockMarks } from './block-marks.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

export interface ScanStore {
  readonly environment: StoreEnvironment;
  readonly summaries: Table<number, Uint8Array>;
  readonly days: ValueTable<Uint8Array, Uint8Array>;
  readonly months: Table<Uint8Array, Uint8Array>;
  readonly chunks: ValueTable<Uint8Array, Uint8Array>;
  readonly blocks: ValueTable<number, Uint8Array>;
  readonly watermarks: Table<number, number>;
  readonly checkpoints: Table<number, Uint8Array>;
  readonly codeCounts: Table<Uint8Array, Uint8Array>;
  readonly frozen: Table<number, number>;
  readonly blockMarks: BlockMarks;
  readonly meta: Table<string, number>;
}

export const scansVersion: EnvironmentVersion = { version: 1, migrations: [] };

/** @throws Error with a message for the operator if a newer program wrote the data */
export function openScanStore(path: string, mode: OpenMode = 'existing'): ScanStore {
  const { environment, meta } = openEnvironment(path, scansVersion, mode);
  const binary = { key: 'binary', value: 'binary' } as const;
  return {
    environment,
    summaries: environment.table('summaries', { key: 'uint32', value: 'binary' }),
    days: environment.table('days', binary),
    months: environment.table('months', binary),
    chunks: environment.table('chunks', binary),
    blocks: environment.table('blocks', { value: 'binary' }),
    watermarks: openWatermarks(environment),
    checkpoints: openCheckpoints(environment),
    codeCounts: environment.table('code_counts', binary),
    frozen: environment.table('frozen', { key: 'uint32' }),
    blockMarks: openBlockMarks(environment),
    meta,
  };
}

export const openWatermarks = (environment: StoreEnvironment): ScanStore['watermarks'] =>
  openTwinTable(environment, 'watermarks', { key: 'uint32' });

export const openCheckpoints = (environment: StoreEnvironment): ScanStore['checkpoints'] =>
  openTwinTable(environment, 'checkpoints', { key: 'uint32', value: 'binary' });

const spanKeyBytes = 6;

/** Key of a code's month, or of a piece of its day. */
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
/** The last day with its own keys, in March 2138: scans of a clock beyond it count on it. */
export const dayStoredMax = monthSpanFirst - 1;

export function chunkKey(codeNo: CodeNo, span: number, index: number): Buffer {
  const key = Buffer.allocUnsafe(7);
  key.writeUInt32BE(codeNo, 0);
  key.writeUInt16BE(span, 4);
  key[6] = index;
  return key;
}

export function highestWatermark(store: ScanStore, journal: number): number {
  let highest = 0;
  for (let partition = 0; partition < partitionCount; partition++) {
    highest = Math.max(highest, store.watermarks.get(journal * partitionCount + partition) ?? 0);
  }
  return highest;
}

/** By journal: every scan below this position is in the store. */
export function lowestWatermarks(store: Pick<ScanStore, 'watermarks'>): Map<number, number> {
  const marks = new Map<number, number[]>();
  for (const { key, value } of store.watermarks.range({})) {
    const journal = Math.floor(key / partitionCount);
    marks.set(journal, [...(marks.get(journal) ?? []), value]);
  }
  // A partition without a watermark has counted nothing.
  const lowest = (values: readonly number[]): number =>
    values.length < partitionCount ? 0 : Math.min(...values);
  return new Map([...marks].map(([journal, values]) => [journal, lowest(values)]));
}

/** Counters from here up are workspaces: 16 million of them, and 4.2 billion codes below. */
export const workspaceCountersFirst = 0xff00_0000;
const counterMax = 0xffff_ffff;
/** The key of a workspace's sums, in place of a code's number. */
export const workspaceCounter = (workspaceNo: WorkspaceNo): number => counterMax - workspaceNo;
/** The workspace of a counter; undefined for a code's counter. */
export const workspaceOfCounter = (counter: number): number | undefined =>
  counter >= workspaceCountersFirst ? counterMax - counter : undefined;

export type CounterKind = 'codes' | 'workspaces';
export const counterKindOf = (counter: number): CounterKind =>
  workspaceOfCounter(counter) === undefined ? 'codes' : 'workspaces';
const checkpointKeys: Readonly<Record<CounterKind, number>> = { codes: 0, workspaces: 1 };

/** By partition: blocks up to this sequence are saved. */
export function readCheckpoints(store: ScanStore, of: CounterKind = 'codes'): Float64Array {
  const checkpoints = new Float64Array(partitionCount);
  const stored = store.checkpoints.get(checkpointKeys[of]);
  if (stored === undefined) return checkpoints;
  const view = new DataView(stored.buffer, stored.byteOffset, stored.byteLength);
  for (let at = 0; at < partitionCount; at++) checkpoints[at] = view.getFloat64(at * 8, true);
  return checkpoints;
}

/** Inside the transaction that saves the partitions' numbers. */
export function putCheckpoints(
  store: ScanStore,
  partitions: readonly number[],
  sequence: number,
  of: CounterKind = 'codes',
): void {
  const checkpoints = readCheckpoints(store, of);
  for (const partition of partitions) checkpoints[partition] = sequence;
  const bytes = Buffer.alloc(partitionCount * 8);
  checkpoints.forEach((checkpoint, at) => bytes.writeDoubleLE(checkpoint, at * 8));
  store.checkpoints.put(checkpointKeys[of], bytes);
}

/** 0 without blocks. */
export const newestSequence = (store: ScanStore): number => store.meta.get('sequence') ?? 0;
