/**
 * The engine's threads, in the order in which they start and stop.
 *
 *   start   marks of counting checked -> journals recovered -> shards (catch up) -> [links loaded by app] -> redirect threads
 *   run     figures while there is something new; journal segments below every shard's position are deleted
 *   stop    redirect threads drain -> shards count what is left -> what waits is told
 */
import type { Config } from '../config.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Clock } from '../model/clock.ts';
import type { VisitorSetup } from '../scans/visitor/visitor.ts';
import { repairMarks } from '../scans/mark-recovery.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';
import type { DataFolder } from './data-folder.ts';
import { Journals } from './journals.ts';
import { threadCounts } from './machine/machine-plan.ts';
import { FolderWatch } from './watch/folder-watch.ts';
import { RedirectThreads } from './redirect-threads.ts';
import { placeOf } from '../scans/journal/place.ts';
import { logRepairs, ShardThreads } from './shard-threads.ts';

export interface EngineThreadsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly folder: DataFolder;
  readonly store: ScanStore;
  readonly links: LinkTableMemory;
  /** Of each redirect thread; absent = as many as come. */
  readonly connectionsMax?: number;
  readonly visitor: Promise<VisitorSetup>;
}

const watchMs = 1_000;
/**
 * A stop has 15 s in all, below systemd's 20: the API's requests and the attempts of webhooks 3 s, redirects until
 * 10 s after it began, their threads 0.5 s more, shards 4 s.
 */
const drainEndMs = 10_000;
const drainMsMin = 1_000;

export class EngineThreads {
  readonly journals: Journals;
  readonly folder: FolderWatch;
  readonly shards: ShardThreads;
  readonly redirects: RedirectThreads;
  readonly #clock: Clock;
  readonly #log: Logger;
  #stopBeganMs: number | undefined;
  readonly #watch: NodeJS.Timeout;

  constructor({ folder, store, ...options }: EngineThreadsOptions) {
    const { config, log, clock } = options;
    const { redirect, shards } = threadCounts(config);
    this.#clock = clock;
    this.#log = log;
    logRepairs(log, repairMarks(store));
    this.journals = new Journals(folder.journalRoot, redirect, store, log);
    const { path, managementFile, scansFile, deliveryFile, journalRoot } = folder;
    const paths = [path, managementFile, scansFile, deliveryFile, journalRoot];
    this.folder = new FolderWatch(paths, log);
    const whenInPlace = (): Promise<void> => this.folder.whenInPlace();
    this.shards = new ShardThreads({
      ...options,
      settings: config.scans,
      threads: shards,
      store,
      storePlace: placeOf(scansFile),
      journals: this.journals,
      whenInPlace,
    });
    this.redirects = new RedirectThreads({
      ...options,
      threads: redirect,
      journals: this.journals,
      whenInPlace,
    });
    this.#watch = setInterval(() => {
      this.folder.examine();
      this.shards.lag.sample(clock.monotonicMs());
    }, watchMs);
    this.#watch.unref();
  }

  get isStopping(): boolean {
    return this.#stopBeganMs !== undefined;
  }

  /** The service stops, its API first: what that takes is left out of the time of redirects. */
  stopBegins(): void {
    this.#stopBeganMs = this.#clock.monotonicMs();
  }

  /** @throws Error with the number of answered scans that are lost, once all has stopped */
  async stop(): Promise<void> {
    clearInterval(this.#watch);
    const nowMs = this.#clock.monotonicMs();
    const drainMs = drainEndMs - (nowMs - (this.#stopBeganMs ?? nowMs));
    await this.redirects.stop(Math.max(drainMsMin, drainMs));
    await this.shards.stop();
    const bytes = this.shards.lag.uncountedBytes;
    if (bytes > 0) {
      this.#log.warn(
        { bytes },
        'stopped before all scans were counted, the next start counts them',
      );
    }
    const { waitingScans } = this.redirects;
    if (waitingScans === 0) return;
    throw new Error(`${waitingScans} answered scans are lost: no journal could take them`);
  }
}
