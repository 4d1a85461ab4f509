/**
 * Reports damaged records of all stores: a log line for each, a health check, a metric.
 *
 * Each thread notes the damage that it reads; shards send theirs with their figures. A record found by several threads
 * counts once. Damage is only a warning: the service serves all other records. If LMDB gives up a file, the process
 * ends.
 */
import type { DamagedRecord } from '../../store/damage.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import type { HealthCheck } from '../../platform/health.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Signal } from '../../model/signal.ts';

const loggedMax = 100;
/** More damaged records are not counted. */
const recordsMax = 10_000;
/** Interval of polling LMDB's state: a thread that waits for LMDB cannot report a refused commit. */
const lostEveryMs = 5_000;

export interface StoredDataOptions {
  readonly environments: readonly StoreEnvironment[];
  readonly shards: {
    readonly damage: readonly DamagedRecord[];
    readonly measured: Signal;
    readonly refused: Signal;
  };
  readonly log: Logger;
}

interface DamageCount {
  readonly file: string;
  readonly table: string;
  readonly count: number;
}

export class StoredData {
  readonly #options: StoredDataOptions;
  readonly #seen = new Set<string>();
  readonly #counts = new Map<string, DamageCount>();
  readonly #listening: Array<() => void> = [];

  /** Starts at once. */
  constructor(options: StoredDataOptions, metrics: Metrics) {
    this.#options = options;
    const { environments, shards, log } = options;
    for (const { damage } of environments) {
      this.#listening.push(damage.noticed.listen(() => this.#note([damage.newest])));
      this.#note(damage.records);
    }
    this.#listening.push(watchLostStores(environments, log, shards.refused));
    this.#listening.push(shards.measured.listen(() => this.#note(shards.damage)));
    metrics.total(
      'quietzone_damaged_records_total',
      'Stored records found damaged',
      ['file', 'table'],
      () => Array.from(this.#counts.values(), ({ count, ...labels }) => ({ labels, value: count })),
    );
  }

  get check(): HealthCheck {
    return { name: 'data', isWarning: true, problem: () => this.#problem() };
  }

  close(): void {
    for (const end of this.#listening.splice(0)) end();
  }

  #note(records: Iterable<DamagedRecord | undefined>): void {
    for (const record of records) {
      if (record === undefined || this.#seen.has(record.name)) continue;
      if (this.#seen.size === recordsMax) return;
      const { name, file, table, key } = record;
      this.#seen.add(name);
      const label = `${file} ${table}`;
      this.#counts.set(label, { file, table, count: (this.#counts.get(label)?.count ?? 0) + 1 });
      const { log } = this.#options;
      const count = this.#seen.size;
      if (count <= loggedMax) log.error({ file, table, record: key }, 'stored record damaged');
      if (count === loggedMax) log.error('further damaged records are only counted');
    }
  }

  #problem(): string | undefined {
    const { environments, shards } = this.#options;
    const damaged = new Map<string, DamagedRecord>();
    for (const { damage } of environments) {
      damage.review();
      for (const record of damage.records) damaged.set(record.name, record);
    }
    for (const record of shards.damage) damaged.set(record.name, record);
    const [first] = damaged.values();
    if (first === undefined) return undefined;
    const { size } = damaged;
    const what = size === 1 ? '1 stored record is damaged' : `${size} stored records are damaged`;
    return `${what} (first: ${first.file}, table ${first.table}): run quietzone verify`;
  }
}

/**
 * Ends the process if LMDB gives up a data file. When a meta page cannot be written (a bad disk), LMDB gives up the
 * file in all threads, and a thread that tries to write may wait forever or break the heap of lmdb-js. Commits are
 * complete and answered scans are in the journals, so a new process continues without loss.
 * @param refused fires when another thread may have failed @returns ends the watch
 */
export function watchLostStores(
  environments: readonly StoreEnvironment[],
  log: Logger,
  refused: Signal,
): () => void {
  const endIfLost = (environment: StoreEnvironment): void => {
    if (!environment.isLost) return;
    const file = environment.path;
    log.fatal({ file }, 'LMDB gave up the file after a failed write, exiting');
    // An exit would wait for threads that wait for LMDB, or abort.
    process.kill(process.pid, 'SIGKILL');
  };
  const check = (): void => environments.forEach(endIfLost);
  const listening = [...environments.map((environment) => environment.refused), refused].map(
    (signal) => signal.listen(check),
  );
  const timer = setInterval(check, lostEveryMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    for (const end of listening) end();
  };
}
