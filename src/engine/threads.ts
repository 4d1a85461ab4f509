/**
 * The engine's threads, in the order in which they start and stop.
 *
 *   start   journals recovered -> shards (catch up) -> [the caller loads links] -> redirect threads
 *   stop    redirect threads drain -> shards count the rest -> uncounted bytes are logged
 *
 * At a takeover the shards stop first: the successor counts the scans that redirect threads still journal (app/upgrade/).
 * An edge (EdgeThreads) only redirects and journals; the cores count. When it stops, scans that no core has stay in its journals.
 */
import type { Config } from '../platform/config/config.ts';
import type { LinkTableMemory } from './links/layout.ts';
import type { Clock } from '../model/clock.ts';
import type { VisitorSetup } from './visitor/visitor.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../platform/log.ts';
import { Journals, journalsIn, type JournalsOptions } from './journal/journals.ts';
import { FolderWatch } from './folder-watch.ts';
import { RedirectThreads, type RedirectThreadsOptions } from './redirect/redirect-threads.ts';
import { identify } from './journal/file-identity.ts';
import { ShardThreads, type ShardThreadsOptions } from './counting/shard-threads.ts';

interface SharedOptions extends Pick<RedirectThreadsOptions, 'pages' | 'connectionsMax'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  /** Paths of the data folder. */
  readonly folder: Readonly<
    Record<'path' | 'managementFile' | 'scansFile' | 'deliveryFile' | 'journalRoot', string>
  >;
  readonly links: LinkTableMemory;
}

export interface EdgeThreadsOptions extends SharedOptions, Pick<RedirectThreadsOptions, 'geo'> {
  /** There are at least as many own journals. */
  readonly redirectThreads: number;
  readonly journals: Omit<JournalsOptions, 'root' | 'threads' | 'log'>;
}

export interface EngineThreadsOptions
  extends SharedOptions, Pick<ShardThreadsOptions, 'zones' | 'bounds'> {
  readonly threads: { readonly redirect: number; readonly shards: number };
  readonly store: ScanStore;
  readonly visitor: VisitorSetup;
  /** Journals of the predecessor in a takeover; absent = no other process journals. */
  readonly othersJournals?: readonly number[] | undefined;
  readonly node?:
    | {
        /** 0 = the node does not redirect. */
        readonly redirectThreads: number;
        readonly journals: Pick<JournalsOptions, 'own' | 'keptFrom' | 'recovery'>;
        /** Called at a stop, after the last redirect and the last count. */
        readonly onDrained?: () => void;
      }
    | undefined;
}

const watchMs = 1_000;
/** A start waits this long for shards to count what a crash has left. */
const catchUpMsMax = 5_000;
/**
 * A stop takes 15 s at most, below systemd's 20. Requests of the API and attempts of webhooks have 3 s, redirects until 10 s
 * after it begins, their threads 0.5 s more, shards 4 s.
 */
const drainEndMs = 10_000;
const drainMsMin = 1_000;

export class EdgeThreads {
  readonly journals: Journals;
  readonly folder: FolderWatch;
  readonly redirects: RedirectThreads;
  readonly #watch: NodeJS.Timeout;

  constructor(options: EdgeThreadsOptions) {
    const { folder, redirectThreads: threads, log } = options;
    const { path, managementFile, scansFile, deliveryFile, journalRoot: root } = folder;
    this.journals = new Journals({ ...options.journals, root, threads, log });
    this.folder = new FolderWatch([path, managementFile, scansFile, deliveryFile, root], log);
    const whenInPlace = (): Promise<void> => this.folder.whenInPlace();
    this.redirects = new RedirectThreads({
      ...options,
      threads,
      journals: this.journals,
      whenInPlace,
    });
    this.#watch = setInterval(() => {
      this.folder.examine();
      this.sample();
    }, watchMs);
    this.#watch.unref();
  }

  protected sample(): void {
    this.journals.deleteOwn();
  }

  /** @throws Error with the number of answered scans that are lost, once all has stopped */
  async stop(drainMsMax = drainEndMs): Promise<void> {
    clearInterval(this.#watch);
    await this.redirects.stop(drainMsMax);
    await this.drained();
    this.redirects.assertJournaled();
  }

  /** Redirects have ended. */
  protected async drained(): Promise<void> {}
}

export class EngineThreads extends EdgeThreads {
  readonly shards: ShardThreads;
  readonly #options: EngineThreadsOptions;
  #stopBeganMs: number | undefined;
  #isCounting = false;

  constructor(options: EngineThreadsOptions) {
    const { folder, store, config, threads, visitor, othersJournals: others, node } = options;
    super({
      ...options,
      geo: visitor.geo,
      redirectThreads: node?.redirectThreads ?? threads.redirect,
      journals: { others, known: journalsIn(store), ...node?.journals },
    });
    this.#options = options;
    this.shards = new ShardThreads({
      ...options,
      rawRetentionDays: config.scans.rawRetentionDays,
      threads: threads.shards,
      storePlace: identify(folder.scansFile),
      journals: this.journals,
      whenInPlace: () => this.folder.whenInPlace(),
    });
  }

  get isCounting(): boolean {
    return this.#isCounting;
  }

  get isStopping(): boolean {
    return this.#stopBeganMs !== undefined;
  }

  /** Call it when the API begins to stop: redirects get the time that is left. */
  beginStop(): void {
    this.#stopBeganMs ??= this.#options.clock.monotonicMs();
  }

  /** Undoes `beginStop`: the node changes its role, or at a takeover redirects get their full time. */
  cancelStop(): void {
    this.#stopBeganMs = undefined;
  }

  /** After the boot of the shards. Resolves when they have counted the journals, or after some seconds. */
  async startCounting(): Promise<void> {
    this.#isCounting = true;
    if (await this.shards.start(catchUpMsMax)) return;
    const { log } = this.#options;
    log.warn('shards are still counting the journals; scan limits of codes may be exceeded');
  }

  /** Counts all journaled scans; another process counts the rest. */
  async stopCounting(): Promise<void> {
    await this.shards.stop();
    this.#isCounting = false;
  }

  override async stop(): Promise<void> {
    this.beginStop();
    const stoppingMs = this.#options.clock.monotonicMs() - (this.#stopBeganMs ?? 0);
    await super.stop(Math.max(drainMsMin, drainEndMs - stoppingMs));
  }

  protected override sample(): void {
    this.shards.lag.sample(this.#options.clock.monotonicMs());
  }

  protected override async drained(): Promise<void> {
    const { log, node } = this.#options;
    await this.shards.stop();
    node?.onDrained?.();
    const bytes = this.#isCounting ? this.shards.lag.uncountedBytes : 0;
    if (bytes > 0) {
      log.warn({ bytes }, 'stopped before all scans were counted, the next start counts them');
    }
  }
}
