/**
 * The engine's threads, in the order in which they start and stop.
 *
 *   start   marks of counting checked -> journals recovered -> shards (catch up) -> [links loaded by app] -> redirect threads
 *   run     figures while there is something new; journal segments below every shard's position are deleted
 *   stop    redirect threads drain -> shards count what is left -> what waits is told
 *
 * When another process takes over, shards stop first: it counts what redirect threads still journal (engine/takeover/).
 */
import type { Config } from '../config.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Clock } from '../model/clock.ts';
import type { VisitorSetup } from '../scans/visitor/visitor.ts';
import { repairMarks } from '../scans/mark-recovery.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';
import type { DataFolder } from './data-folder.ts';
import { CountedJournals, type JournalsOptions } from './journals.ts';
import { threadCounts } from './machine/machine-plan.ts';
import { FolderWatch } from './watch/folder-watch.ts';
import { RedirectThreads, type RedirectThreadsOptions } from './redirect-threads.ts';
import { StopTime } from './stop-time.ts';
import { placeOf } from '../scans/journal/place.ts';
import { logRepairs, ShardThreads, type ShardThreadsOptions } from './shard-threads.ts';

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
  /** Journals of the predecessor in a takeover; absent = no other process journals. */
  readonly othersJournals?: readonly number[] | undefined;
  readonly pages?: RedirectThreadsOptions['pages'];
  readonly zones?: ShardThreadsOptions['zones'];
  /** Of a node in a cluster. */
  readonly node?:
    | {
        /** 0 = it answers no short links. */
        readonly redirectThreads: number;
        readonly journals: Pick<JournalsOptions, 'own' | 'keptFrom' | 'recovery'>;
        /** At a stop, when redirects have ended. */
        readonly onDrained?: () => void;
      }
    | undefined;
}

const watchMs = 1_000;
/** Start-up waits this long for shards to count what a crash left in the journals. */
const catchUpMsMax = 5_000;

export class EngineThreads {
  readonly journals: CountedJournals;
  readonly folder: FolderWatch;
  readonly shards: ShardThreads;
  readonly redirects: RedirectThreads;
  readonly #log: Logger;
  readonly #stopTime: StopTime;
  readonly #onDrained: () => void;
  #isCounting = false;
  readonly #watch: NodeJS.Timeout;

  constructor({ folder, store, ...options }: EngineThreadsOptions) {
    const { config, log, clock } = options;
    const { redirect, shards } = threadCounts(config);
    const redirectThreads = options.node?.redirectThreads ?? redirect;
    this.#log = log;
    this.#onDrained = options.node?.onDrained ?? (() => undefined);
    this.#stopTime = new StopTime(clock);
    const { othersJournals } = options;
    // Another process counts: it finds damaged marks again itself.
    if (othersJournals === undefined) logRepairs(log, repairMarks(store));
    this.journals = new CountedJournals(store, {
      root: folder.journalRoot,
      threads: redirectThreads,
      others: othersJournals,
      log,
      ...options.node?.journals,
    });
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
      threads: redirectThreads,
      journals: this.journals,
      whenInPlace,
    });
    this.#watch = setInterval(() => {
      this.folder.examine();
      this.shards.lag.sample(clock.monotonicMs());
    }, watchMs);
    this.#watch.unref();
  }

  /** Between `startCounting` and `stopCounting`. */
  get isCounting(): boolean {
    return this.#isCounting;
  }

  get isStopping(): boolean {
    return this.#stopTime.hasBegun;
  }

  /** The service stops, its API first: what that takes is left out of the time of redirects. */
  stopBegins(): void {
    this.#stopTime.begin();
  }

  /** The service goes on: the process that would have taken over is gone. */
  goesOn(): void {
    this.#stopTime.cancel();
  }

  /**
   * This process counts from here on; shards are booted. Resolves when they have counted what the journals held, or
   * after some seconds.
   * @param waits `if needed`: nothing can be counted yet, so only what an earlier run has left is waited for
   */
  async startCounting(waits: 'if needed' | 'always'): Promise<void> {
    this.#isCounting = true;
    const isNeeded = waits === 'always' || this.shards.lag.uncountedBytes > 0;
    const msMax = isNeeded ? catchUpMsMax : 0;
    if ((await this.shards.start(msMax)) || msMax === 0) return;
    this.#log.warn(
      'shards are still counting what the journals hold; limits of codes may be exceeded',
    );
  }

  /** What is journaled by now is counted; another process counts the rest. */
  async stopCounting(): Promise<void> {
    await this.shards.stop();
    this.#isCounting = false;
  }

  /** @throws Error with the number of answered scans that are lost, once all has stopped */
  async stop(): Promise<void> {
    clearInterval(this.#watch);
    await this.redirects.stop(this.#stopTime.drainMs);
    this.#onDrained();
    await this.shards.stop();
    if (this.#isCounting) this.#tellUncounted();
    this.redirects.assertJournaled();
  }

  #tellUncounted(): void {
    const bytes = this.shards.lag.uncountedBytes;
    if (bytes === 0) return;
    this.#log.warn({ bytes }, 'stopped before all scans were counted, the next start counts them');
  }
}
