/**
 * What workspaces say on their pages, from the store to the redirect threads, as memory that all of them share.
 *
 *   PATCH /workspaces/:id   record and number of the change, in one transaction (store/management/pages.ts)
 *                                  │ twice a second: is the last number beyond the one seen?
 *   this thread             packs the records that have changed --> updatePages of the redirect threads
 *                                  └ kept: a thread that starts gets all of them with its setup
 *
 * The number is read, not told: another process may have made the change, or another core of a cluster. On an edge a core's
 * feed of links has brought the record, and the number is the edge's own (cluster/links/replica-store.ts).
 */
import { type PackedPages, packPages, type PageChanges } from '../http/pages/packed-pages.ts';
import { readOr } from '../model/failure.ts';
import { isSilent } from '../model/routing/pages.ts';
import type { Management } from '../store/management/management.ts';
import { pagesChangedAfter } from '../store/management/pages.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';

/** A change is seen this much later at most; a look costs one read. */
const everyMs = 500;

export class PageFeed {
  readonly #store: Management;
  readonly #ticker: Ticker;
  readonly #packed = new Map<number, PackedPages>();
  #seen = 0;
  #onChanges: (changes: PageChanges) => void = () => undefined;

  constructor(store: Management, log: Logger) {
    this.#store = store;
    this.#ticker = new Ticker({
      everyMs,
      run: () => this.#follow(),
      log,
      failed: 'reading the pages of workspaces failed, retrying',
      resumed: 'reading the pages of workspaces resumed',
    });
  }

  /** @param onChanges called with each change from here on */
  start(onChanges: (changes: PageChanges) => void): void {
    this.#onChanges = onChanges;
    this.#ticker.start();
  }

  /** Of every workspace that says something. */
  all(): PageChanges {
    // A damaged record keeps no thread from redirecting.
    readOr(() => this.#follow(), undefined);
    return [...this.#packed];
  }

  async close(): Promise<void> {
    await this.#ticker.close();
  }

  #follow(): void {
    const { environment, last } = this.#store;
    environment.refresh();
    const newest = last('pages');
    if (newest === this.#seen) return;
    const changes: Array<readonly [number, PackedPages | undefined]> = [];
    for (const { workspaceNo, pages } of pagesChangedAfter(this.#store.pages, this.#seen)) {
      const packed = isSilent(pages) ? undefined : packPages(pages);
      if (packed === undefined) this.#packed.delete(workspaceNo);
      else this.#packed.set(workspaceNo, packed);
      changes.push([workspaceNo, packed]);
    }
    this.#seen = newest;
    if (changes.length > 0) this.#onChanges(changes);
  }
}
