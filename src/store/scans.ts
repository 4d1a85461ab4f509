/**
 * The `scans` environment: written by the shards, read by everyone.
 *
 *   heads        code u32                      lifetime total, newest block, today's rollup and sketch
 *   days         code u32 | day u16            a closed day: rollup and inline sketch
 *   months       code u32 | month u16          sum and union of a month's closed days
 *   chunks       code u32 | span u16 | i u8    a sketch's chunk; span = day, or 0x8000 + month
 *   blocks       sequence                      one window of one shard: raw scans, outbox of qr.scanned
 *   watermarks   journal * 64 + partition      journal position below which every scan is in a block
 *   checkpoints  partition                     sequence up to which blocks are in heads and days
 *   meta         name                          sequence, schemaVersion
 *
 * Keys are big-endian, so a code's records stand together in time order.
 */
import { partitionCount } from '../model/code.ts';
import { StoreEnvironment, type Table } from './environment.ts';

const schemaVersion = 1;

export interface ScanStore {
  readonly environment: StoreEnvironment;
  readonly heads: Table<number, Uint8Array>;
  readonly days: Table<Uint8Array, Uint8Array>;
  readonly months: Table<Uint8Array, Uint8Array>;
  readonly chunks: Table<Uint8Array, Uint8Array>;
  readonly blocks: Table<number, Uint8Array>;
  readonly watermarks: Table<number, number>;
  readonly checkpoints: Table<number, number>;
  readonly meta: Table<string, number>;
}

/** Opens the environment; refuses data of a newer release. */
export function openScanStore(path: string): ScanStore {
  const environment = new StoreEnvironment(path);
  const binary = { key: 'binary', value: 'binary' } as const;
  const store: ScanStore = {
    environment,
    heads: environment.table('heads', { key: 'uint32', value: 'binary' }),
    days: environment.table('days', binary),
    months: environment.table('months', binary),
    chunks: environment.table('chunks', binary),
    blocks: environment.table('blocks', { value: 'binary' }),
    watermarks: environment.table('watermarks', { key: 'uint32' }),
    checkpoints: environment.table('checkpoints', { key: 'uint32' }),
    meta: environment.table('meta'),
  };
  const found = store.meta.get('schemaVersion');
  if (found === undefined) {
    environment.transactionSync(() => store.meta.put('schemaVersion', schemaVersion));
  } else if (found > schemaVersion) {
    throw new Error(
      `Cannot open ${path}: its data has version ${found}, expected at most ${schemaVersion}; run a newer release`,
    );
  }
  return store;
}

/** Key of a day or month of a code. */
export function spanKey(codeNo: number, span: number): Buffer {
  const key = Buffer.allocUnsafe(6);
  key.writeUInt32BE(codeNo, 0);
  key.writeUInt16BE(span, 4);
  return key;
}
export const spanOf = (key: Uint8Array): number => (key[4]! << 8) | key[5]!;

const monthBit = 0x8000;
/** Distinguishes a month's chunks from a day's. */
export const monthSpan = (month: number): number => monthBit | month;

export function chunkKey(codeNo: number, span: number, index: number): Buffer {
  const key = Buffer.allocUnsafe(7);
  key.writeUInt32BE(codeNo, 0);
  key.writeUInt16BE(span, 4);
  key[6] = index;
  return key;
}

/** All journal watermarks of one journal: the position below which nothing is needed any more. */
export function lowestWatermark(store: ScanStore, journal: number): number {
  let lowest = Number.MAX_SAFE_INTEGER;
  for (let partition = 0; partition < partitionCount; partition++) {
    lowest = Math.min(lowest, store.watermarks.get(journal * partitionCount + partition) ?? 0);
  }
  return lowest;
}
export function highestWatermark(store: ScanStore, journal: number): number {
  let highest = 0;
  for (let partition = 0; partition < partitionCount; partition++) {
    highest = Math.max(highest, store.watermarks.get(journal * partitionCount + partition) ?? 0);
  }
  return highest;
}
