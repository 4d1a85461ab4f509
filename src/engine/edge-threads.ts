/**
 * The threads of an edge: it redirects, and journals for the cores, which count (EngineThreads does both).
 *
 *   start   journals recovered -> [links loaded by its caller] -> redirect threads
 *   run     journal segments that no core needs are deleted
 *   stop    redirect threads drain; what cores do not have yet stays in the journals
 */
import type { Config } from '../config.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Clock } from '../model/clock.ts';
import type { Logger } from '../telemetry/log.ts';
import type { DataFolder } from './data-folder.ts';
import { Journals, type JournalsOptions } from './journals.ts';
import { RedirectThreads, type RedirectThreadsOptions } from './redirect-threads.ts';
import { StopTime } from './stop-time.ts';
import { FolderWatch } from './watch/folder-watch.ts';

export interface EdgeThreadsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly folder: DataFolder;
  readonly links: LinkTableMemory;
  /** Of each redirect thread; absent = as many as come. */
  readonly connectionsMax?: number;
  /** Redirect threads: own journals are as many at least. */
  readonly threads: number;
  readonly journals: Pick<JournalsOptions, 'known' | 'recovery'> & {
    readonly own: readonly number[];
    readonly keptFrom: (journal: number) => number;
  };
  readonly pages?: RedirectThreadsOptions['pages'];
}

const watchMs = 1_000;

export class EdgeThreads {
  readonly journals: Journals;
  readonly folder: FolderWatch;
  readonly redirects: RedirectThreads;
  readonly stopTime: StopTime;
  readonly #watch: NodeJS.Timeout;

  constructor({ folder, journals, ...options }: EdgeThreadsOptions) {
    const { log, threads, clock } = options;
    const { path, managementFile, journalRoot } = folder;
    this.journals = new Journals({ ...journals, root: journalRoot, threads, log });
    this.folder = new FolderWatch([path, managementFile, journalRoot], log);
    this.stopTime = new StopTime(clock);
    this.redirects = new RedirectThreads({
      ...options,
      journals: this.journals,
      whenInPlace: () => this.folder.whenInPlace(),
    });
    this.#watch = setInterval(() => {
      this.folder.examine();
      this.journals.deleteOwn();
    }, watchMs);
    this.#watch.unref();
  }

  /** @throws Error with the number of answered scans that are lost, once all has stopped */
  async stop(): Promise<void> {
    clearInterval(this.#watch);
    await this.redirects.stop(this.stopTime.drainMs);
    this.redirects.assertJournaled();
  }
}
