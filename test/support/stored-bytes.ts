/**
 * The records of a data file as they lie in it, below the store's tables, so that a test can do to one what a bad disk
 * does: flip a bit.
 */
import { type Database, open, type RootDatabase } from 'lmdb';

/** More than a data file has tables. */
const maxDbs = 112;
/** Before all keys. Without a start, a table of whole numbers would begin at whatever lmdb-js has in its buffer. */
const start = Buffer.alloc(4);
/** lmdb's flag NO_SYNC_FLUSH; its enum has no value at run time. */
const withoutSync: number = 0x10000;

export class StoredBytes {
  readonly #root: RootDatabase;

  constructor(path: string) {
    this.#root = open({ path, noSubdir: true, maxDbs });
  }

  /** Tables that have records. */
  get tables(): string[] {
    return [...this.#root.getKeys()].map(String).filter((name) => this.keys(name).length > 0);
  }

  /** Those that have a value, with their keys. */
  records(table: string): Array<readonly [key: Buffer, bytes: Buffer]> {
    this.#root.resetReadTxn();
    // lmdb-js reads into one buffer: what is to stay is copied at once.
    const all = Array.from(
      this.#open(table).getRange({ start }),
      ({ key, value }) => [Buffer.from(key), Buffer.from(value)] as const,
    );
    return all.filter(([, bytes]) => bytes.length > 0);
  }

  keys(table: string): Buffer[] {
    return this.records(table).map(([key]) => key);
  }

  bytes(table: string, key: Buffer): Buffer {
    return Buffer.from(this.#open(table).get(key) ?? []);
  }

  /** @param at a bit of the value; beyond its end it goes round */
  flip(table: string, key: Buffer, at: number): void {
    const bytes = this.bytes(table, key);
    const bit = at % (bytes.length * 8);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    this.put(table, key, bytes);
  }

  put(table: string, key: Buffer, bytes: Uint8Array): void {
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment
    this.#root.transactionSync(() => this.#open(table).putSync(key, bytes), withoutSync);
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  #open(table: string): Database<Uint8Array, Buffer> {
    const encodings = { keyEncoding: 'binary', encoding: 'binary' } as const;
    return this.#root.openDB<Uint8Array, Buffer>({ name: table, ...encodings });
  }
}
