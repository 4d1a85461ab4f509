/** The link table of an edge. It follows a store into which another machine's links come (cluster/links/). */
import type { LinkWriter } from '../../links/writer.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../telemetry/log.ts';
import { LinkLoader, loadLinks } from './link-loader.ts';
import { LinkRefresher } from './link-refresher.ts';
import type { Clock } from '../../model/clock.ts';

/** Before the first number: every change is missing then, so all links are published. */
const noNumber = -1;

export interface EdgeTableOptions {
  readonly store: Management;
  readonly writer: LinkWriter;
  /** Of a limited code, as far as they are counted. */
  readonly scansOf: (codeNo: CodeNo) => number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Logger;
}

export class EdgeTable {
  readonly #options: EdgeTableOptions;
  readonly links: LinkLoader;
  readonly #refresher: LinkRefresher;

  constructor(options: EdgeTableOptions) {
    const { store, writer, scansOf } = options;
    this.#options = options;
    this.links = new LinkLoader(store, writer, scansOf);
    this.#refresher = new LinkRefresher(store, this.links);
  }

  /** Changes up to this number are in it. */
  get seen(): number {
    return this.#refresher.seen;
  }

  /** Fills the empty table. @returns false if links are lost: a block is damaged */
  fill(): boolean {
    this.#refresher.begin(this.#options.store.last('link'));
    loadLinks(this.links, this.#options);
    this.links.loadLimited();
    return this.links.repairedBlocks === 0;
  }

  async refresh(): Promise<void> {
    await this.#refresher.refresh();
  }

  /** @param vanished keys of links that are gone */
  async reload(vanished: readonly string[]): Promise<void> {
    this.#refresher.begin(noNumber);
    await this.#refresher.refresh();
    for (const key of vanished) this.#options.writer.delete(key);
  }

  async close(): Promise<void> {
    await this.#refresher.close();
  }
}
