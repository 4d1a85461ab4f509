/**
 * Holds the LMDB environment of a data file open in this process: later opens of the file share it. `open` of lmdb-js
 * also begins a write transaction; this one does not, so it returns while another process holds the writer lock.
 */
import { nativeAddon } from 'lmdb';

interface NativeEnvironment {
  open(options: object, flags: number, jsFlags: number): void;
  close(): void;
}

declare module 'lmdb' {
  /** The addon under lmdb-js, which it exports without a type. */
  export const nativeAddon: {
    readonly Env: new () => NativeEnvironment;
  };
}

/** Flags that lmdb-js derives from StoreEnvironment's options: MDB_NOSUBDIR and its own MDB_OVERLAPPINGSYNC. */
const overlappingSync = 0x1000;
const noSubdir = 0x4000;
/** Tables that a process may open in one file: management.mdb has 84. Each takes 61 bytes in each transaction. */
export const maxDbs = 96;
/** lmdb-js's initial map size; the map grows with the data. */
const mapSize = 0x2_0000;
/** A buffer for keys, which this handle never reads. */
const keyBytes = Buffer.alloc(64);

/** @returns closes it @throws Error of LMDB */
export function holdOpen(path: string): () => void {
  const environment = new nativeAddon.Env();
  const options = { path, maxDbs, mapSize, keyBytes };
  environment.open(options, overlappingSync | noSubdir, overlappingSync);
  return () => environment.close();
}
