/**
 * Keeps the LMDB environment of a data file open in this process: all that opens the file later shares it.
 *
 * The `open` of lmdb-js (StoreEnvironment) also begins a write transaction. This one does not, so it ends while another
 * process holds the writer's lock.
 */
import { nativeAddon } from 'lmdb';

interface NativeEnvironment {
  open(options: object, flags: number, jsFlags: number): void;
  close(): void;
}

declare module 'lmdb' {
  /** What lmdb-js itself is built on; it exports it without a type. */
  export const nativeAddon: {
    readonly Env: new () => NativeEnvironment;
  };
}

/** What lmdb-js makes of the options of StoreEnvironment: MDB_NOSUBDIR, and its own MDB_OVERLAPPINGSYNC. */
const overlappingSync = 0x1000;
const noSubdir = 0x4000;
/**
 * Tables that a process may have open of one file; management.mdb has 64. It sizes arrays of this process alone, 61 bytes
 * a table in each transaction: a process of an older release, which knows 64 tables or fewer, goes on beside it.
 */
export const maxDbs = 96;
/** lmdb-js's first size of a map; it grows with the data. */
const mapSize = 0x2_0000;
/** For keys that are read through this handle: none. */
const keyBytes = Buffer.alloc(64);

/** @returns lets it go @throws Error of LMDB */
export function keepEnvironment(path: string): () => void {
  const environment = new nativeAddon.Env();
  const options = { path, maxDbs, mapSize, keyBytes };
  environment.open(options, overlappingSync | noSubdir, overlappingSync);
  return () => environment.close();
}
