/** The link table of an edge, which follows a store that another machine's links come into (cluster/links/). */
import type { LinkWriter } from '../../links/writer.ts';
import type { LinkLoader } from './link-loader.ts';
import type { LinkRefresher } from './link-refresher.ts';

/** Before the first number: every change is missing then, so all links are published. */
const noNumber = -1;

export interface EdgeTableOptions {
  readonly writer: LinkWriter;
  readonly links: LinkLoader;
  readonly refresher: LinkRefresher;
}

export class EdgeTable {
  readonly #options: EdgeTableOptions;

  constructor(options: EdgeTableOptions) {
    this.#options = options;
  }

  /** Changes up to this number are in it. */
  get seen(): number {
    return this.#options.refresher.seen;
  }

  async refresh(): Promise<void> {
    await this.#options.refresher.refresh();
  }

  /** @param vanished keys of links that are no more */
  async reload(vanished: readonly string[]): Promise<void> {
    const { refresher, writer } = this.#options;
    refresher.begin(noNumber);
    await refresher.refresh();
    for (const key of vanished) writer.delete(key);
  }

  async closeLimits(): Promise<void> {
    await this.#options.links.closeLimits();
  }
}
