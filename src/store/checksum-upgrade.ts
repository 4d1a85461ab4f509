/**
 * Gives the records of an older release their checksums, behind the running service: table after table, a slice in
 * each transaction, beside other writers. The last slice says in `meta` that all have one; from then on a record
 * without is damaged. A process that dies midway begins again, and passes over what was done at 1 us a record.
 */
import { basename } from 'node:path';
import type { TableUpgrade } from './checked-table.ts';
import type { StoreEnvironment } from './environment.ts';
import { checksumsKey, openMeta } from './open-environment.ts';
import type { Table } from './table.ts';

/** Records that a step reads at least: most tables have fewer. */
const readMin = 200;

export class ChecksumUpgrade {
  readonly #environment: StoreEnvironment;
  readonly #meta: Table<string, number>;
  #waiting: Array<() => TableUpgrade>;
  #current: TableUpgrade | undefined;
  #records = 0;

  constructor(environment: StoreEnvironment) {
    this.#environment = environment;
    this.#meta = openMeta(environment);
    this.#waiting = [...environment.upgrades.values()];
  }

  /** Name of the data file. */
  get file(): string {
    return basename(this.#environment.path);
  }
  get isDone(): boolean {
    return this.#environment.hasChecksums;
  }
  /** Records that got their checksums. */
  get records(): number {
    return this.#records;
  }

  /** One slice. @throws Failure storage_full: then the next call begins again with the first table */
  async step(): Promise<void> {
    try {
      const { records, isLast } = await this.#environment.transaction(() => this.#slice());
      this.#records += records;
      if (isLast) this.#environment.requireChecksums();
    } catch (error) {
      this.#current = undefined;
      this.#waiting = [...this.#environment.upgrades.values()];
      throw error;
    }
  }

  #slice() {
    let records = 0;
    let isLast = false;
    for (let read = 0; read < readMin && !isLast;) {
      this.#current ??= this.#waiting.shift()?.();
      const slice = this.#current?.();
      records += slice?.records ?? 0;
      read += slice?.read ?? 0;
      if (slice?.isEnd !== false) this.#current = undefined;
      isLast = this.#current === undefined && this.#waiting.length === 0;
    }
    if (isLast) this.#meta.put(checksumsKey, 1);
    return { records, isLast };
  }
}
