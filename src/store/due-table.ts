/**
 * Durable timers: when a key is due. A timer commits with the record that it belongs to.
 *
 *   <name>_at   key                  -> due time, ms
 *   <name>      [due time, ...key]      the queue, oldest first
 */
import type { StoreEnvironment } from './environment.ts';
import type { Range, Table, TableKey } from './table.ts';

/** Timers that one call moves: a few ms of the writer's time. */
const movedMax = 500;

type DueKey = Array<string | number>;
export type DueEntry<K extends DueKey> = [dueMs: number, ...key: K];

export class DueTable<K extends DueKey> {
  readonly #environment: StoreEnvironment;
  readonly #times: Table<TableKey, number>;
  readonly #queue: Table<DueKey, 1>;

  constructor(environment: StoreEnvironment, name: string) {
    this.#environment = environment;
    this.#times = environment.table(`${name}_at`);
    this.#queue = environment.set(name);
  }

  /** When the key is due, ms; undefined = never. */
  at(...key: K): number | undefined {
    return this.#times.get(rowKey(key), () => this.#searched(key));
  }

  /** Inside a transaction. @param dueMs undefined = never */
  set(key: K, dueMs: number | undefined): void {
    const before = this.at(...key);
    if (before !== undefined) this.#queue.remove([before, ...key]);
    if (dueMs === undefined) return this.#times.remove(rowKey(key));
    this.#times.put(rowKey(key), dueMs);
    this.#queue.put([dueMs, ...key], 1);
  }

  /** What is due at `untilMs`, oldest first. @param from the entry to begin with; absent = the oldest */
  due(untilMs: number, limit: number, from?: DueEntry<K>): Array<DueEntry<K>> {
    return this.#entries({ ...(from && { start: from }), end: [untilMs + 1], limit });
  }

  /**
   * Removes what is due at `untilMs`, at most `limit`, and calls `work` with each key in the same transaction.
   * @returns how many
   */
  async expire(untilMs: number, limit: number, work: (...key: K) => void): Promise<number> {
    if (this.due(untilMs, 1).length === 0) return 0;
    return await this.#environment.transaction(() => {
      const over = this.due(untilMs, limit);
      for (const [, ...key] of over) {
        this.set(key, undefined);
        work(...key);
      }
      return over.length;
    });
  }

  /** Moves timers beyond `farMs` to `nowMs`: the clock ran ahead when they were set. */
  async pullIn(farMs: number, nowMs: number): Promise<void> {
    const range = { start: [farMs], limit: movedMax };
    if (this.#entries({ ...range, limit: 1 }).length === 0) return;
    await this.#environment.transaction(() => {
      for (const [, ...key] of this.#entries(range)) this.set(key, nowMs);
    });
  }

  /** The time of a key whose own row is damaged. */
  #searched(key: K): number | undefined {
    const found = this.#entries({}).find((entry) =>
      key.every((part, at) => part === entry[at + 1]),
    );
    return found?.[0];
  }

  #entries(range: Range<DueKey>): Array<DueEntry<K>> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `set` alone writes the queue
    return [...this.#queue.keys(range)] as Array<DueEntry<K>>;
  }
}

/** LMDB returns a list of one element as that element, and the checksum of a row depends on its key. */
const rowKey = (key: DueKey): TableKey => (key.length === 1 ? (key[0] ?? '') : key);
