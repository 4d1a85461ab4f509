/**
 * Damaged records of all stores, as an operator sees them: a line in the log for each place, a health check, a metric.
 * Also starts what gives the records of an older release their checksums.
 *
 * Each thread notes what it reads. Shards send theirs with their figures; a place that several threads came upon
 * counts once. A damaged record does not make the service unready: all others are sound, and are served. A file that
 * LMDB gives up ends the process (lost-stores.ts).
 */
import { ChecksumUpgrade } from '../../store/checksum-upgrade.ts';
import type { DamagedPlace } from '../../store/damage.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import type { HealthCheck } from '../../telemetry/health.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { Ticker } from '../../telemetry/ticker.ts';
import { watchLostStores } from './lost-stores.ts';
import type { Signal } from '../../model/signal.ts';

/** Lines of single places; one more says that there are others. */
const loggedMax = 100;
/** Places that are told apart; beyond it new ones are not counted. */
const placesMax = 10_000;
/** Between two slices of an upgrade, of 2 ms each. */
const upgradePauseMs = 10;
/** Records between two lines about an upgrade. */
const progressRecords = 1_000_000;

export interface StoredDataOptions {
  readonly environments: readonly StoreEnvironment[];
  /** What the shards came upon, and when to look. */
  readonly shards: {
    readonly damage: readonly DamagedPlace[];
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

interface Watched {
  readonly management: { readonly environment: StoreEnvironment };
  readonly scans: { readonly environment: StoreEnvironment };
  readonly webhooks: { readonly environment: StoreEnvironment };
  readonly threads: { readonly shards: StoredDataOptions['shards'] };
  readonly log: Logger;
}

/** Of the running service, started. */
export function watchStoredData(watched: Watched, metrics: Metrics): StoredData {
  const { management, scans, webhooks, threads, log } = watched;
  const environments = [management, scans, webhooks].map(({ environment }) => environment);
  const stored = new StoredData({ environments, shards: threads.shards, log });
  stored.start(metrics);
  return stored;
}

export class StoredData {
  readonly #options: StoredDataOptions;
  readonly #seen = new Set<string>();
  /** By file and table. */
  readonly #counts = new Map<string, DamageCount>();
  readonly #listening: Array<() => void> = [];
  readonly #upgrades: readonly ChecksumUpgrade[];
  readonly #ticker: Ticker;
  #upgrade: ChecksumUpgrade | undefined;

  constructor(options: StoredDataOptions) {
    this.#options = options;
    this.#upgrades = options.environments
      .filter((environment) => !environment.hasChecksums)
      .map((environment) => new ChecksumUpgrade(environment));
    this.#ticker = new Ticker({
      everyMs: upgradePauseMs,
      log: options.log,
      failed: 'giving older records their checksums failed, retrying',
      resumed: 'giving older records their checksums resumed',
      run: () => this.#upgradeSlice(),
    });
  }

  get check(): HealthCheck {
    return { name: 'data', isWarning: true, problem: () => this.#problem() };
  }

  start(metrics: Metrics): void {
    const { environments, shards } = this.#options;
    for (const { damage } of environments) {
      this.#listening.push(damage.noticed.listen(() => this.#note([damage.newest])));
      this.#note(damage.places);
    }
    this.#listening.push(watchLostStores(environments, this.#options.log, shards.refused));
    this.#listening.push(shards.measured.listen(() => this.#note(shards.damage)));
    metrics.total(
      'quietzone_damaged_records_total',
      'Stored records that were found damaged',
      ['file', 'table'],
      () => Array.from(this.#counts.values(), ({ count, ...labels }) => ({ labels, value: count })),
    );
    if (this.#upgrades.length > 0) this.#ticker.start();
  }

  /** Ends the upgrade after its slice: the next process goes on. */
  async close(): Promise<void> {
    for (const end of this.#listening.splice(0)) end();
    await this.#ticker.close();
  }

  #note(places: Iterable<DamagedPlace | undefined>): void {
    for (const place of places) {
      if (place === undefined || this.#seen.has(place.name)) continue;
      if (this.#seen.size === placesMax) return;
      const { name, file, table, key } = place;
      this.#seen.add(name);
      const label = `${file} ${table}`;
      this.#counts.set(label, { file, table, count: (this.#counts.get(label)?.count ?? 0) + 1 });
      const { log } = this.#options;
      const count = this.#seen.size;
      if (count <= loggedMax) log.error({ file, table, record: key }, 'a stored record is damaged');
      if (count === loggedMax) log.error('more damaged records are counted, and not logged');
    }
  }

  #problem(): string | undefined {
    const { environments, shards } = this.#options;
    const damaged = new Map<string, DamagedPlace>();
    for (const { damage } of environments) {
      damage.review();
      for (const place of damage.places) damaged.set(place.name, place);
    }
    for (const place of shards.damage) damaged.set(place.name, place);
    const [first] = damaged.values();
    if (first === undefined) return undefined;
    const { size } = damaged;
    const what = size === 1 ? '1 stored record is damaged' : `${size} stored records are damaged`;
    return `${what} (first: ${first.file}, table ${first.table}): run quietzone verify`;
  }

  async #upgradeSlice(): Promise<void> {
    const { log } = this.#options;
    const upgrade = (this.#upgrade ??= this.#upgrades.find(({ isDone }) => !isDone));
    if (upgrade === undefined) {
      void this.#ticker.close();
      return;
    }
    const { file, records } = upgrade;
    if (records === 0) log.info({ file }, 'giving older records their checksums');
    await upgrade.step();
    if (upgrade.isDone) {
      log.info({ file, records: upgrade.records }, 'every record has its checksum');
      this.#upgrade = undefined;
    } else if (
      Math.floor(upgrade.records / progressRecords) > Math.floor(records / progressRecords)
    ) {
      log.info({ file, records: upgrade.records }, 'giving older records their checksums');
    }
  }
}
