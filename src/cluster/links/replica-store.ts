/**
 * The links of a cluster in the store of an edge: a management.mdb with only these tables filled, so that the code that loads
 * links on a core works here too (product/codes/links/):
 *
 *   links                            as the core has them
 *   workspace_pages, page_changes    as the core has them, with numbers of the edge's own
 *   edge_links   "feed" -> what the edge has (LinkPosition); absent until all links have come once, `refilling` while
 *                          all come again: those here lead where they led, or where they lead now
 *   edge_scans   codeNo -> scans of a limited code, as far as they are counted
 */
import { noPages, parsePages } from '../../model/routing/pages.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { Table } from '../../store/environment.ts';
import { linksIn } from '../../engine/links/link-blocks.ts';
import type { Management } from '../../store/management/management.ts';
import { putPages } from '../../store/management/pages.ts';
import {
  blocksEnd,
  codesShown,
  type LinkPiece,
  LinkPieceError,
  type LinkPosition,
} from './link-piece.ts';

const feedKey = 'feed';

export class ReplicaStore {
  readonly #store: Management;
  readonly #feed: Table<string, LinkPosition | 'refilling'>;
  readonly #scans: Table<number, number>;
  /** Keys that parts of all links have removed, also those that were cut short. */
  #vanished = new Set<string>();

  constructor(store: Management) {
    const { environment } = store;
    this.#store = store;
    this.#feed = environment.table('edge_links');
    this.#scans = environment.table('edge_scans', { key: 'uint32' });
  }

  /** All links have come once. */
  get hasLinks(): boolean {
    return this.#feed.has(feedKey);
  }

  /** Where the feed continues; undefined if all links are needed. */
  get position(): LinkPosition | undefined {
    const position = this.#feed.get(feedKey, () => undefined);
    return position === 'refilling' ? undefined : position;
  }

  /** Numbers of codes that have a link are at most this. */
  get codeNoMax(): number {
    const [last = 0] = this.#store.links.keys({ reverse: true, limit: 1 });
    return (last + 1) * 16;
  }

  scansOf(codeNo: CodeNo): number {
    return this.#scans.get(codeNo, () => undefined) ?? 0;
  }

  /** Links are lost: all are needed. */
  async requestFullSync(): Promise<void> {
    await this.#store.environment.transaction(() => this.#feed.put(feedKey, 'refilling'));
  }

  /** In one transaction. @throws LinkPieceError; Failure storage_full; then nothing of it was done */
  async apply(piece: LinkPiece): Promise<void> {
    const { part, blocks, pages, totals } = piece;
    await this.#store.environment.transaction(() => {
      if (part === undefined) this.#move(piece);
      else this.#replace(piece, part);
      for (const [blockNo, bytes] of blocks) this.#store.links.put(blockNo, bytes);
      for (const [workspaceNo, json] of pages) putPages(this.#store, workspaceNo, parsePages(json));
      for (const [codeNo, scans] of totals) this.#scans.put(codeNo, scans);
    });
  }

  #move({ cluster, number, codes }: LinkPiece): void {
    const before = this.position;
    if (before?.cluster !== cluster || before.number + codes.length !== number) {
      throw new LinkPieceError(`Cannot read links: change ${number} follows ${before?.number}`);
    }
    if (codes.length === 0) return;
    const shown = [...codes.toReversed(), ...before.codes].slice(0, codesShown);
    this.#feed.put(feedKey, { cluster, number, codes: shown });
  }

  /** Removes the blocks that a part does not have. */
  #replace(
    { cluster, number, codes, blocks }: LinkPiece,
    [from, next]: readonly [number, number],
  ): void {
    const { links, pages } = this.#store;
    if (from === 0) {
      if (this.hasLinks) this.#feed.put(feedKey, 'refilling');
      // All of them follow: after a restore from a copy, numbers belong to other changes.
      for (const workspaceNo of Array.from(pages.workspaces.keys({}))) {
        putPages(this.#store, workspaceNo, noPages);
      }
    }
    const coming = new Map(blocks);
    for (const blockNo of Array.from(links.keys({ start: from, end: next }))) {
      const before = links.get(blockNo, () => undefined) ?? Buffer.alloc(0);
      const bytes = coming.get(blockNo);
      if (bytes !== undefined && Buffer.compare(before, bytes) === 0) continue;
      if (this.hasLinks) for (const { key } of linksIn(blockNo, before)) this.#vanished.add(key);
      links.remove(blockNo);
    }
    if (next === blocksEnd) this.#feed.put(feedKey, { cluster, number, codes: codes.toReversed() });
  }

  /** Keys that were removed since the last call, and that no code has now. */
  takeVanished(): Iterable<string> {
    const keys = this.#vanished;
    this.#vanished = new Set();
    if (keys.size === 0) return [];
    // 1 us a link.
    this.#store.environment.refresh();
    for (const { key: blockNo, value } of this.#store.links.range({}, () => undefined)) {
      for (const { key } of linksIn(blockNo, value)) keys.delete(key);
    }
    return keys;
  }
}
