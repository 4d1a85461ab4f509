/**
 * Settings of workspaces that threads need, from the store to the threads: page texts for redirect threads, time zones
 * for shards.
 *
 *   PATCH /workspaces/:id   writes the record and the number of the change, in one transaction
 *                                  │ each feed reads the number from time to time
 *   this thread             reads what has changed --> the threads that run
 *                                  └ `all`: the setup of a thread that starts
 *
 * A feed polls: a command or another core may have made the change. On an edge, the feed of links writes and numbers the
 * records (cluster/links/replica-store.ts).
 */
import type { PageChanges } from '../http/pages.ts';
import { readOr } from '../model/failure.ts';
import { isSilent, type WorkspacePages } from '../model/routing/pages.ts';
import type { WorkspaceZone } from '../scans/days/zone-cuts.ts';
import type { Management } from '../store/management/management.ts';
import { pagesChangedAfter } from '../store/management/pages.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';

const pagesEveryMs = 500;
/** A zone applies from the next UTC day on. A day that begins before the poll is not split: it answers fewer queries, none wrong. */
const zonesEveryMs = 10_000;

abstract class WorkspaceFeed<Changes> {
  readonly #store: Management;
  readonly #kind: 'pages' | 'zones';
  readonly #ticker: Ticker;
  #seen = 0;
  #onChanges: (changes: Changes) => void = () => undefined;

  constructor(store: Management, kind: 'pages' | 'zones', everyMs: number, log: Logger) {
    this.#store = store;
    this.#kind = kind;
    this.#ticker = new Ticker({
      everyMs,
      run: () => this.#poll(),
      log,
      failed: `reading the ${kind} of workspaces failed, retrying`,
      resumed: `reading the ${kind} of workspaces resumed`,
    });
  }

  /** @param onChanges called with each change from here on */
  start(onChanges: (changes: Changes) => void): void {
    this.#onChanges = onChanges;
    this.#ticker.start();
  }

  async close(): Promise<void> {
    await this.#ticker.close();
  }

  /** A damaged record must not stop a thread: what was read before is used. */
  protected refresh(): void {
    readOr(() => this.#poll(), undefined);
  }

  protected abstract read(store: Management, seen: number): Changes;

  #poll(): void {
    this.#store.environment.refresh();
    const newest = this.#store.last(this.#kind);
    if (newest === this.#seen) return;
    const changes = this.read(this.#store, this.#seen);
    this.#seen = newest;
    this.#onChanges(changes);
  }
}

export class PageFeed extends WorkspaceFeed<PageChanges> {
  readonly #pages = new Map<number, WorkspacePages>();

  constructor(store: Management, log: Logger) {
    super(store, 'pages', pagesEveryMs, log);
  }

  all(): PageChanges {
    this.refresh();
    return [...this.#pages];
  }

  protected override read(store: Management, seen: number): PageChanges {
    return Array.from(pagesChangedAfter(store.pages, seen), ({ workspaceNo, pages }) => {
      if (!isSilent(pages)) this.#pages.set(workspaceNo, pages);
      else this.#pages.delete(workspaceNo);
      return [workspaceNo, this.#pages.get(workspaceNo)] as const;
    });
  }
}

/** Sends all zones with each change. */
export class ZoneFeed extends WorkspaceFeed<readonly WorkspaceZone[]> {
  #zones: readonly WorkspaceZone[] = [];

  constructor(store: Management, log: Logger) {
    super(store, 'zones', zonesEveryMs, log);
  }

  /** Of workspaces whose zone is not UTC, or was not until today. */
  all(): readonly WorkspaceZone[] {
    this.refresh();
    return this.#zones;
  }

  protected override read({ workspaces }: Management): readonly WorkspaceZone[] {
    const zones: WorkspaceZone[] = [];
    for (const { value } of workspaces.range({}, () => undefined)) {
      const { no, timezone: zone = 'UTC', zoneSinceDay: sinceDay, zoneBefore: before } = value;
      if (sinceDay === undefined || before === undefined) continue;
      zones.push({ workspaceNo: no, zone, sinceDay, before });
    }
    this.#zones = zones;
    return zones;
  }
}
