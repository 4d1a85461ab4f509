/**
 * The store of a simulated machine in LMDB, through the service's StoreEnvironment. Virtual time stands while LMDB works.
 * A killed process closes its files, so nothing unflushed is lost here, and no disk is full.
 */
import { join } from 'node:path';
import type { LogPosition } from '../../../src/cluster/log/applier.ts';
import type { ReplicatedStore } from '../../../src/cluster/log/apply-queue.ts';
import { EnvironmentStore } from '../../../src/cluster/log/environment-store.ts';
import { StoreEnvironment, type Table } from '../../../src/store/environment.ts';
import type { Replicator, Work } from '../../../src/store/replicated-transactions.ts';
import type { SimulatedStore } from './simulated-store.ts';

interface Opened {
  readonly environment: StoreEnvironment;
  readonly numbers: Table<string, number>;
  readonly store: EnvironmentStore;
}

/** A work that waits behind a batch at the log is not waited for. */
const workMsMax = 5;

export class LmdbStore implements SimulatedStore {
  isFull = false;
  readonly #folder: string;
  readonly #busy: (work: Promise<unknown>) => void;
  #files = 0;
  #opened: Opened;

  /** @param busy time stands until it has settled */
  constructor(folder: string, busy: (work: Promise<unknown>) => void) {
    this.#folder = folder;
    this.#busy = busy;
    this.#opened = this.#open();
  }

  #open(): Opened {
    const path = join(this.#folder, `store-${this.#files}.mdb`);
    const environment = new StoreEnvironment(path, 'create');
    const numbers = environment.table<string, number>('numbers');
    return { environment, numbers, store: new EnvironmentStore(environment) };
  }

  position(): LogPosition {
    return this.#opened.store.position();
  }

  records(): ReadonlyMap<string, number> {
    return new Map([...this.#opened.numbers.range({})].map(({ key, value }) => [key, value]));
  }

  get(key: string): number | undefined {
    return this.#opened.numbers.get(key);
  }

  put(key: string, value: number): void {
    this.#opened.numbers.put(key, value);
  }

  remove(key: string): void {
    this.#opened.numbers.remove(key);
  }

  replicated(): ReplicatedStore {
    const { store } = this.#opened;
    return {
      position: () => store.position(),
      apply: (writes, position, after) => {
        const applied = store.apply(writes, position, after);
        this.#busy(applied);
        return applied;
      },
    };
  }

  replicateWith(replicator: Replicator) {
    const { environment } = this.#opened;
    environment.replicateWith(replicator);
    return async (work: Work): Promise<unknown> => {
      const done = environment.transaction(work);
      this.#busy(Promise.race([done, new Promise((resolve) => setTimeout(resolve, workMsMax))]));
      return await done;
    };
  }

  /** The process that had it is dead. */
  reopen(): void {
    this.#busy(this.#reopen());
  }

  async #reopen(): Promise<void> {
    await this.#opened.environment.close();
    this.#opened = this.#open();
  }

  /** The machine is replaced. */
  empty(): void {
    this.#files++;
  }

  flush(): void {
    // A process that dies loses nothing.
  }

  loseUnflushed(): void {
    // The machine of this test has power.
  }

  async close(): Promise<void> {
    await this.#opened.environment.close();
  }
}
