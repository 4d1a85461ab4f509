/**
 * Settings of workspaces that threads need, from the store to the threads: page texts for redirect threads, time zones
 * for shards.
 *
 *   PATCH /workspaces/:id   writes the record and the number of the change, in one transaction
 *                                  │ each commit: the feed reads the number
 *   this thread             reads what has changed --> the threads that run
 *                                  └ `all`: the setup of a thread that starts
 *
 * The change may be another core's: then the commit is of the cluster's log. On an edge, the feed of links writes and numbers
 * the records (cluster/links/replica-store.ts).
 */
import type { PageChanges } from './redirect/pages.ts';
import { readOr } from '../model/failure.ts';
import { isSilent, type WorkspacePages } from '../model/routing/pages.ts';
import type { WorkspaceZone } from './counting/days/zone-cuts.ts';
import type { Management } from '../store/management/management.ts';
import { pagesChangedAfter } from '../store/management/pages.ts';

abstract class WorkspaceFeed<Changes> {
  readonly #store: Management;
  readonly #kind: 'pages' | 'zones';
  #stop: () => void = () => undefined;
  #seen = 0;
  #onChanges: (changes: Changes) => void = () => undefined;

  constructor(store: Management, kind: 'pages' | 'zones') {
    this.#store = store;
    this.#kind = kind;
  }

  /** @param onChanges called with each change from here on */
  start(onChanges: (changes: Changes) => void): void {
    this.#onChanges = onChanges;
    this.#stop = this.#store.environment.committed.listen(() => this.refresh());
  }

  close(): void {
    this.#stop();
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

  constructor(store: Management) {
    super(store, 'pages');
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

  constructor(store: Management) {
    super(store, 'zones');
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
