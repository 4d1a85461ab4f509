/**
 * The link table's image: loaded at a start in place of reading every link from the store, and written again as links change.
 *
 *   start      row in the store (store/management/link-image-row.ts) ─ file with its token ─ every piece whole ─▶ loaded
 *              then the changes since, by number (LinkRefresher)      └ any fault ─▶ LinkLoader.load, as without an image
 *   running    none that counts, or 50,000 changes since ─▶ draft, rename, row; at most every five minutes
 *
 * Only the process that writes to the stores writes it. The file holds what was committed, and the row is committed after
 * the file is on the disk, so a file without its row (killed between them, store put back) has a token that no row has.
 * Below 100,000 links reading them takes 0.1 s, and no image is written.
 */
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { ImageFault, ImageFile, fits } from '../../links/image.ts';
import { draftOf, imageBytes, writeImage } from '../../links/image-writer.ts';
import { addressSpace, type LinkTableMemory, type TableLayout } from '../../links/layout.ts';
import type { LinkWriter } from '../../links/writer.ts';
import { Failure, messageOf } from '../../model/failure.ts';
import {
  type ImageRow,
  type LocalTransaction,
  readImageRow,
  writeImageRow,
} from '../../store/management/link-image-row.ts';
import type { Management } from '../../store/management/management.ts';
import { freeBytes } from '../../store/space-guard.ts';
import type { Logger } from '../../telemetry/log.ts';
import { Ticker } from '../../telemetry/ticker.ts';
import type { LinkLoader } from './link-loader.ts';
import type { LinkRefresher } from './link-refresher.ts';

const fileName = 'links.image';
const linksMin = 100_000;
/** Half of the numbers that are kept: a start publishes them in 0.4 s. */
const changesMax = 50_000;
const checkMs = 10_000;
/** A table that changes all the time is written for a few seconds in each five minutes. */
const restMs = 300_000;
/** After one that was given up. */
const retryMs = 60_000;
/** Left free beside an image, for the stores and journals. */
const spareBytes = 268_435_456;
const tokenMax = 2 ** 47;

/** An image that belongs to a store; its file is open until it is loaded. */
export interface FoundImage {
  readonly row: ImageRow;
  readonly file: ImageFile;
  /** What the link table must be made with. */
  readonly layout: TableLayout;
}

/** Before the link table is made. Says in the log why one cannot be used. */
export function findLinkImage(
  store: Management,
  folder: string,
  log: Logger,
): FoundImage | undefined {
  const row = readImageRow(store);
  const path = join(folder, fileName);
  if (row === undefined || !existsSync(path)) return undefined;
  try {
    const file = ImageFile.open(path);
    if (file.head.token === row.token && fits(file.head, addressSpace.slotBytesMax)) {
      return { row, file, layout: file.head };
    }
    file.close();
    throw new ImageFault('it is not of this store');
  } catch (error) {
    warn(log, error);
    return undefined;
  }
}

const warn = (log: Logger, error: unknown): void => {
  const reason = messageOf(error);
  log.warn({ reason }, 'the image of the link table cannot be used, links are read from the store');
};

export interface LinkImageOptions {
  readonly store: Management;
  readonly memory: LinkTableMemory;
  readonly writer: LinkWriter;
  readonly links: LinkLoader;
  readonly refresher: LinkRefresher;
  /** Of the cache. */
  readonly folder: string;
  readonly log: Logger;
  readonly monotonicMs: () => number;
  /** With whose layout the memory was made. */
  readonly found: FoundImage | undefined;
  /** In a cluster, where another machine numbers the changes: the row is this machine's, as the file is. */
  readonly localTransaction?: LocalTransaction | undefined;
  /** A test changes links there. */
  readonly onPiece?: () => Promise<void> | void;
}

export class LinkImage {
  readonly #options: LinkImageOptions;
  readonly #path: string;
  #ticker: Ticker | undefined;
  /** Up to which the newest image has the changes; undefined without one. */
  #number: number | undefined;
  #restsUntilMs = 0;
  #hasWarned = false;

  constructor(options: LinkImageOptions) {
    this.#options = options;
    this.#path = join(options.folder, fileName);
  }

  /** Fills the link table, from the image where there is one that can be used, but for limited codes. */
  async load(): Promise<void> {
    const { links, writer, log, monotonicMs } = this.#options;
    const startedMs = monotonicMs();
    const isLoaded = this.#loadImage();
    if (isLoaded) await this.#options.refresher.refresh();
    else links.load();
    const count = writer.count + writer.tombstones;
    const from = isLoaded ? 'image' : 'store';
    log.info({ links: count, from, ms: Math.round(monotonicMs() - startedMs) }, 'links are loaded');
  }

  #loadImage(): boolean {
    const { found, memory, writer, links, refresher, log } = this.#options;
    if (found === undefined) return false;
    try {
      const codes = found.file.load(memory, writer);
      try {
        links.restore(codes);
      } catch (error) {
        found.file.clear(memory, writer);
        throw error;
      }
      refresher.begin(found.row.number);
      this.#number = found.row.number;
      return true;
    } catch (error) {
      warn(log, error);
      return false;
    } finally {
      found.file.close();
    }
  }

  /** Keeps the image as new as it should be. Once redirects listen, in the process that writes to the stores. */
  start(): void {
    rmSync(draftOf(this.#path), { force: true });
    this.#ticker = new Ticker({
      everyMs: checkMs,
      run: () => this.#writeIfDue(),
      log: this.#options.log,
      failed: 'writing the image of the link table failed, retrying',
      resumed: 'writing the image of the link table resumed',
    });
    this.#ticker.start();
  }

  /** Gives up what is being written; `start` goes on. */
  async stop(): Promise<void> {
    const ticker = this.#ticker;
    this.#ticker = undefined;
    await ticker?.close();
  }

  async #writeIfDue(): Promise<void> {
    const { store, writer, monotonicMs } = this.#options;
    if (writer.count + writer.tombstones < linksMin) return;
    const changes = this.#number === undefined ? Infinity : store.last('link') - this.#number;
    if (changes < changesMax || monotonicMs() < this.#restsUntilMs) return;
    this.#restsUntilMs = monotonicMs() + restMs;
    const ticker = this.#ticker;
    if (!(await this.write(() => this.#ticker !== ticker))) {
      this.#restsUntilMs = monotonicMs() + retryMs;
    }
  }

  /** Writes it now. @returns whether there is a new one */
  async write(isStopped = (): boolean => false): Promise<boolean> {
    const { memory, writer, links, refresher, log, monotonicMs, onPiece } = this.#options;
    const startedMs = monotonicMs();
    if (!this.#hasSpace()) return false;
    // By itself a table that has grown may take hours to move its slots.
    while (!isStopped() && !writer.free()) await yieldToEventLoop();
    await refresher.refresh();
    const codes = links.imageCodes;
    if (codes === undefined) return false;
    const row = { token: 1 + randomInt(tokenMax), number: refresher.seen };
    const task = { path: this.#path, memory, writer, codes, isStopped, ...row };
    const bytes = await writeImage(onPiece === undefined ? task : { ...task, onPiece });
    if (bytes === undefined || !(await this.#bind(row))) return false;
    const ms = Math.round(monotonicMs() - startedMs);
    log.info({ bytes, ms }, 'the image of the link table is written');
    return true;
  }

  #hasSpace(): boolean {
    const { folder, writer, log } = this.#options;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const isThere = freeBytes(folder) >= imageBytes(writer) + spareBytes;
    if (!isThere && !this.#hasWarned) {
      log.warn('no space for the image of the link table: the next start reads all links');
    }
    this.#hasWarned = !isThere;
    return isThere;
  }

  async #bind(row: ImageRow): Promise<boolean> {
    const { store, localTransaction } = this.#options;
    // The file has replaced the one that the row in the store names.
    this.#number = undefined;
    try {
      if (!(await writeImageRow(store, row, localTransaction))) return false;
      await store.environment.flush();
    } catch (error) {
      // A full disk, or another process writes to the store now.
      if (error instanceof Failure) return false;
      throw error;
    }
    this.#number = row.number;
    return true;
  }
}
