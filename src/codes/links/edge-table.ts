/** The link table of an edge, which follows a store that another machine's links come into (cluster/links/). */
import type { LinkWriter } from '../../links/writer.ts';
import { removeImageRow } from '../../store/management/link-image-row.ts';
import type { Management } from '../../store/management/management.ts';
import type { LinkImage } from './link-image.ts';
import type { LinkLoader } from './link-loader.ts';
import type { LinkRefresher } from './link-refresher.ts';

/** Before the first number: every change is missing then, so all links are published. */
const noNumber = -1;

export interface EdgeTableOptions {
  readonly store: Management;
  readonly writer: LinkWriter;
  readonly links: LinkLoader;
  readonly refresher: LinkRefresher;
  readonly image: LinkImage;
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
    const { store, refresher, writer, image } = this.#options;
    // One that is being written has the links before.
    await image.stop();
    await store.environment.transaction(() => removeImageRow(store));
    refresher.begin(noNumber);
    await refresher.refresh();
    for (const key of vanished) writer.delete(key);
    image.start();
  }

  async closeLimits(): Promise<void> {
    await this.#options.links.closeLimits();
  }
}
