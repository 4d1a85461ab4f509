/**
 * The records of a data file as they lie in it, below the store's tables, so that a test can do to one what a bad disk
 * does: flip a bit.
 */
import { type Database, open, type RootDatabase } from 'lmdb';

/** More than a data file has tables. */
const maxDbs = 112;
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

  /** Of the records that have a value. */
  keys(table: string): Buffer[] {
    // lmdb-js reads into one buffer: what is to stay is copied at once.
    const keys = Array.from(this.#open(table).getKeys({}), (key) => Buffer.from(key));
    return keys.filter((key) => this.bytes(table, key).length > 0);
  }

  bytes(table: string, key: Buffer): Buffer {
    return Buffer.from(this.#open(table).get(key) ?? []);
  }

  /** @param at a bit of the value; beyond its end it goes round */
  flip(table: string, key: Buffer, at: number): void {
    const bytes = this.bytes(table, key);
    const bit = at % (bytes.length * 8);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment
    this.#root.transactionSync(() => this.#open(table).putSync(key, bytes), withoutSync);
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  #open(table: string): Database<Uint8Array, Buffer> {
    return this.#root.openDB<Uint8Array, Buffer>({
      name: table,
      keyEncoding: 'binary',
      encoding: 'binary',
    });
  }
}
