/**
 * The engine's threads, in the order in which they start and stop.
 *
 *   start   journals recovered -> shards (catch up) -> [links loaded by app] -> redirect threads
 *   run     figures every second; journal segments below every shard's position are deleted
 *   stop    redirect threads drain -> shards count what is left -> everything is in the store
 */
import type { Config } from '../config.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Clock } from '../model/clock.ts';
import type { VisitorSetup } from '../scans/visitor/visitor.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';
import type { DataFolder } from './data-folder.ts';
import { Journals } from './journals.ts';
import { threadCounts } from './machine-plan.ts';
import { RedirectThreads } from './redirect-threads.ts';
import { ShardThreads } from './shard-threads.ts';

export interface EngineThreadsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly folder: DataFolder;
  readonly store: ScanStore;
  readonly links: LinkTableMemory;
  readonly visitor: VisitorSetup;
}

export class EngineThreads {
  readonly journals: Journals;
  readonly shards: ShardThreads;
  readonly redirects: RedirectThreads;

  constructor({ folder, store, ...options }: EngineThreadsOptions) {
    const { config, log } = options;
    const { redirect, shards } = threadCounts(config);
    this.journals = new Journals(folder.journalRoot, redirect, store, log);
    this.shards = new ShardThreads({
      ...options,
      settings: config.scans,
      threads: shards,
      storeFile: folder.scansFile,
      journals: this.journals,
    });
    this.redirects = new RedirectThreads({
      ...options,
      threads: redirect,
      journals: this.journals,
    });
  }

  async stop(): Promise<void> {
    await this.redirects.stop();
    await this.shards.stop();
  }
}
