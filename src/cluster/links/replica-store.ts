/**
 * The links of a cluster in the store of an edge: a management.mdb with only these tables filled, so that the code that loads
 * and follows links on a core works here too (codes/links/):
 *
 *   links, link_changes, meta "next:link"    as the core has them, with its numbers
 *   workspace_pages, page_changes            as the core has them, with numbers of the edge's own
 *   edge_links    "feed"  -> [cluster, state]       of which cluster they are
 *                 "pages" -> [number]               of the core's last change of pages that is here
 *   edge_scans    codeNo  -> scans of a limited code, as far as they are counted
 *
 *   filling     the first snapshot is not whole: nothing redirects yet
 *   complete    all links as they were at the last number
 *   refilling   older links and some of a snapshot: all lead where they led, or where they lead now
 *
 * Each transaction applies frames, and the number up to which they go.
 */
import type { CodeNo } from '../../model/numbers.ts';
import { noPages, parsePages, type WorkspacePages } from '../../model/routing/pages.ts';
import type { Table } from '../../store/environment.ts';
import { linksIn } from '../../store/management/link-blocks.ts';
import { linkChangesKept } from '../../store/management/link-changes.ts';
import type { Management } from '../../store/management/management.ts';
import { putPages } from '../../store/management/pages.ts';
import { type LinkFrame, LinkFrameError } from './link-frames.ts';
import { type ChangesSeen, noCode } from './link-source.ts';

type State = 'filling' | 'complete' | 'refilling';
const feedKey = 'feed';
const pagesKey = 'pages';
const nextKey = 'next:link';
/** The newest changes, which show whether the core has the same ones. */
const codesShown = 16;

/** A snapshot that is being applied. */
interface Refill {
  readonly cluster: string;
  /** Blocks below equal those of the snapshot. */
  next: number;
}

export interface AppliedFrames {
  /** A snapshot is whole with these: all links may differ. */
  readonly isWhole: boolean;
  /** Scans of limited codes were among them. */
  readonly areMoreCounted: boolean;
}

export class ReplicaStore {
  readonly #store: Management;
  readonly #feed: Table<string, readonly string[]>;
  readonly #scans: Table<number, number>;
  #refill: Refill | undefined;
  /** Keys that snapshots have removed, also those that were cut short. */
  #vanished = new Set<string>();

  constructor(store: Management) {
    this.#store = store;
    this.#feed = store.environment.table('edge_links');
    this.#scans = store.environment.table('edge_scans', { key: 'uint32' });
  }

  get #state(): State | undefined {
    const [, state] = this.#feed.get(feedKey, () => undefined) ?? [];
    if (state === undefined || state === 'filling' || state === 'complete') return state;
    return 'refilling';
  }

  /** A whole snapshot has come. */
  get hasLinks(): boolean {
    return this.#state === 'complete' || this.#state === 'refilling';
  }

  /** Where the feed continues; undefined if all links are needed. */
  get position(): (ChangesSeen & { readonly cluster: string }) | undefined {
    const [cluster] = this.#feed.get(feedKey, () => undefined) ?? [];
    if (cluster === undefined || this.#state !== 'complete') return undefined;
    const number = this.#store.last('link');
    const codes = Array.from(
      { length: Math.min(number, codesShown) },
      (_, back) => this.#store.bulk.linkChanges.get(number - back, () => undefined) ?? noCode,
    );
    return { cluster, number, codes };
  }

  /** The core's last change of pages that is here. */
  get pagesNumber(): number {
    const [number = '0'] = this.#feed.get(pagesKey, () => undefined) ?? [];
    return Number(number);
  }

  /** Numbers of codes that have a link are at most this. */
  get codeNoMax(): number {
    const [last = 0] = this.#store.links.keys({ reverse: true, limit: 1 });
    return (last + 1) * 16;
  }

  scansOf(codeNo: CodeNo): number {
    return this.#scans.get(codeNo, () => undefined) ?? 0;
  }

  /** A connection begins: drops the unfinished snapshot of the last one. */
  begin(): void {
    this.#refill = undefined;
  }

  /** Links are lost: the next connection brings them all. */
  async requestFullSync(): Promise<void> {
    const [cluster = ''] = this.#feed.get(feedKey, () => undefined) ?? [];
    await this.#store.environment.transaction(() => this.#putState(cluster, 'refilling'));
  }

  /** @throws LinkFrameError; Failure storage_full; then nothing of it was done, and `begin` comes next */
  async apply(frames: readonly LinkFrame[]): Promise<AppliedFrames> {
    let isWhole = false;
    let areMoreCounted = false;
    await this.#store.environment.transaction(() => {
      let last = this.#store.last('link');
      const before = last;
      for (const frame of frames) {
        if (frame.kind === 'reset') this.#beginRefill(frame.cluster);
        else if (frame.kind === 'block') this.#putBlock(frame.blockNo, frame.bytes);
        else if (frame.kind === 'pages') this.#putPages(frame);
        else if (frame.kind === 'change') last = this.#putChange(frame, last);
        else if (frame.kind === 'at') {
          last = this.#endRefill(frame.number);
          isWhole = true;
        } else if (frame.kind === 'used') {
          this.#scans.put(frame.codeNo, frame.scans);
          areMoreCounted = true;
        }
      }
      if (last !== before) this.#store.meta.put(nextKey, last + 1);
    });
    return { isWhole, areMoreCounted };
  }

  #putState(cluster: string, state: State): void {
    this.#feed.put(feedKey, [cluster, state]);
  }

  #beginRefill(cluster: string): void {
    this.#refill = { cluster, next: 0 };
    this.#putState(cluster, this.hasLinks ? 'refilling' : 'filling');
    // All of them follow: after a restore from a copy, numbers belong to other changes.
    for (const workspaceNo of Array.from(this.#store.pages.workspaces.keys({}))) {
      putPages(this.#store, workspaceNo, noPages);
    }
    this.#feed.put(pagesKey, ['0']);
  }

  #putPages({ number, workspaceNo, json }: LinkFrame & { readonly kind: 'pages' }): void {
    let pages: WorkspacePages;
    try {
      pages = parsePages(json);
    } catch {
      throw new LinkFrameError('Cannot read links: the text of a frame "pages" is not JSON');
    }
    putPages(this.#store, workspaceNo, pages);
    this.#feed.put(pagesKey, [String(number)]);
  }

  #putBlock(blockNo: number, bytes: Uint8Array): void {
    const { links } = this.#store;
    const refill = this.#refill;
    if (refill === undefined) return links.put(blockNo, bytes);
    if (blockNo < refill.next) {
      throw new LinkFrameError(`Cannot read links: block ${blockNo} is not in its place`);
    }
    this.#removeBlocks(refill, blockNo);
    refill.next = blockNo + 1;
    const before = links.get(blockNo, () => undefined);
    if (before !== undefined && Buffer.compare(before, bytes) === 0) return;
    if (before !== undefined) {
      const keys = new Set(linksIn(blockNo, bytes).map(({ key }) => key));
      for (const { key } of linksIn(blockNo, before)) if (!keys.has(key)) this.#vanished.add(key);
    }
    links.put(blockNo, bytes);
  }

  /** Removes the blocks below `end` that the snapshot lacks. */
  #removeBlocks({ next }: Refill, end: number): void {
    if (next >= end) return;
    const { links } = this.#store;
    // Read before the first is removed.
    const blockNos = Array.from(links.keys({ start: next, end }));
    for (const blockNo of blockNos) {
      const block = links.get(blockNo, () => undefined);
      if (block !== undefined)
        for (const { key } of linksIn(blockNo, block)) this.#vanished.add(key);
      links.remove(blockNo);
    }
  }

  #putChange({ number, codeNo }: LinkFrame & { readonly kind: 'change' }, last: number): number {
    if (number !== last + 1 || this.#refill !== undefined) {
      throw new LinkFrameError(`Cannot read links: change ${number} follows ${last}`);
    }
    const { linkChanges } = this.#store.bulk;
    linkChanges.put(number, codeNo);
    if (number > linkChangesKept) linkChanges.remove(number - linkChangesKept);
    return number;
  }

  #endRefill(number: number): number {
    const refill = this.#refill;
    if (refill === undefined) throw new LinkFrameError('Cannot read links: no snapshot has begun');
    this.#removeBlocks(refill, 2 ** 32 - 1);
    this.#refill = undefined;
    this.#store.environment.clear('link_changes');
    this.#putState(refill.cluster, 'complete');
    return number;
  }

  /** Keys that snapshots have removed since the last call, and that no code has now. */
  takeVanished(): readonly string[] {
    const keys = this.#vanished;
    this.#vanished = new Set();
    if (keys.size === 0) return [];
    // Another code may have the key now; rare, and then 1 us a link.
    this.#store.environment.refresh();
    for (const { key: blockNo, value } of this.#store.links.range({}, () => undefined)) {
      for (const { key } of linksIn(blockNo, value)) keys.delete(key);
    }
    return [...keys];
  }
}
