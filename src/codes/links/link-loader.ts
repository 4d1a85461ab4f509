/**
 * The stored side of the short links: what the link table is filled from at start, and how a
 * committed change gets into it.
 */
import { KEEP_SCANS_LEFT } from '../../links/layout.ts';
import { Failure } from '../../model/failure.ts';
import { foldShortCode, type QrCodeRecord } from '../../model/code.ts';
import {
  eachLink,
  type LinkCursor,
  linkBlockOf,
  linkIn,
  linksIn,
  type StoredLink,
  withLink,
} from '../../store/management/link-blocks.ts';
import type { Management } from '../../store/management/management.ts';
import type { LinkTable } from './link-table.ts';

const noLimit = -1;
/** The table is in another process, which follows the numbered changes (link-refresher.ts). */
export type Remote = 'elsewhere';

/** Late links one wake tries: about 1 ms. */
const lateBatchMax = 100;

export class LinkLoader {
  readonly #store: Management;
  readonly #table: LinkTable | Remote;
  readonly #scansOf: (codeNo: number) => number;
  /** The limit the table counts down from, by code; as many entries as there are limited codes. */
  readonly #limits = new Map<number, number>();
  /** Codes whose committed link is not in the table yet. */
  readonly #late = new Set<number>();

  constructor(store: Management, table: LinkTable | Remote, scansOf: (codeNo: number) => number) {
    this.#store = store;
    this.#table = table;
    this.#scansOf = scansOf;
  }

  /** Upper bound of the links `load` will put: codes ever made, static ones among them. */
  get expected(): number {
    return this.#store.last('code');
  }

  /** Every link, tombstones too, in order of code number. */
  *all(): Generator<StoredLink> {
    for (const { key, value } of this.#store.links.range({})) yield* linksIn(key, value);
  }

  /**
   * Fills the empty link table at start, but for limited codes: how many scans those have left is known
   * only when everything journaled is counted. @returns how many links, tombstones included
   */
  load(): number {
    const table = this.#here();
    let count = 0;
    const cursor: LinkCursor = { ...emptyCursor };
    const adopt = (): void => {
      if (cursor.isLimited && !cursor.isGone) this.#late.add(cursor.codeNo);
      else table.adopt(cursor);
      count++;
    };
    for (const { key, value } of this.#store.links.range({})) eachLink(key, value, cursor, adopt);
    return count;
  }

  /** The limited codes that `load` left out, with the scans they have left now; what does not fit stays late. */
  loadLimited(): void {
    for (let before = 0; this.#late.size !== before;) {
      before = this.#late.size;
      this.wakeLate();
    }
  }

  /** Writes the link of a dynamic code. Inside the transaction of its change. */
  write(code: QrCodeRecord): void {
    if (code.shortCode === undefined) return;
    const block = linkBlockOf(code.no);
    const link: StoredLink = {
      key: foldShortCode(code.shortCode),
      codeNo: code.no,
      workspaceNo: code.workspaceNo,
      target: code.target,
      expiresAtMs: code.expiresAtMs ?? 0,
      scanLimit: code.scanLimit,
      gone: code.deletedAtMs !== undefined,
    };
    this.#store.links.put(block, withLink(this.#store.links.get(block), link));
    if (this.#table === 'elsewhere') {
      this.#store.bulk.linkChanges.put(this.#store.next('link'), code.no);
    }
  }

  /**
   * Brings the newest committed link of a code into the link table.
   * @throws Failure storage_full, overloaded (links/writer.ts): the change is committed all the same,
   *   and `wakeLate` brings it in when there is room again
   */
  wake(code: QrCodeRecord): void {
    if (code.shortCode === undefined || this.#table === 'elsewhere') return;
    if (this.#late.size > 0) this.wakeLate();
    this.#wake(code.no);
  }

  /**
   * The same for many at once, about 5 us each; what finds no room stays late. Codes without a link,
   * which are the static ones, are passed over.
   */
  wakeMany(codeNos: readonly number[]): void {
    if (this.#table === 'elsewhere' || codeNos.length === 0) return;
    this.#store.environment.refresh();
    const byBlock = new Map<number, Set<number>>();
    for (const codeNo of codeNos) {
      const wanted = byBlock.get(linkBlockOf(codeNo));
      if (wanted === undefined) byBlock.set(linkBlockOf(codeNo), new Set([codeNo]));
      else wanted.add(codeNo);
    }
    for (const [blockNo, wanted] of byBlock) {
      const block = this.#store.links.get(blockNo);
      if (block === undefined) continue;
      for (const link of linksIn(blockNo, block)) {
        if (wanted.has(link.codeNo)) this.#bringOrKeepLate(link);
      }
    }
  }

  /** Committed links that found no room in the link table. */
  get lateCount(): number {
    return this.#late.size;
  }

  /** Tries the late links again, a batch at most. Called by every wake and by the app's tick. */
  wakeLate(): void {
    for (const codeNo of [...this.#late].slice(0, lateBatchMax)) {
      try {
        this.#wake(codeNo);
      } catch (error) {
        if (error instanceof Failure) return;
        throw error;
      }
    }
  }

  #wake(codeNo: number): void {
    this.#late.add(codeNo);
    this.#store.environment.refresh();
    const block = this.#store.links.get(linkBlockOf(codeNo));
    const link = block === undefined ? undefined : linkIn(block, codeNo);
    if (link === undefined) throw new Error(`Cannot wake code ${codeNo}: it has no stored link`);
    this.#bring(link);
  }

  #bringOrKeepLate(link: StoredLink): void {
    this.#late.add(link.codeNo);
    try {
      this.#bring(link);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }

  #bring(link: StoredLink): void {
    if (link.gone) {
      this.#limits.delete(link.codeNo);
      this.#here().retire(link.key);
    } else {
      this.#put(link);
    }
    this.#late.delete(link.codeNo);
  }

  #here(): LinkTable {
    if (this.#table !== 'elsewhere') return this.#table;
    throw new Error('Cannot bring in a link: the link table is in another process');
  }

  #put({ key, codeNo, workspaceNo, target, expiresAtMs, scanLimit }: StoredLink): void {
    const { scansLeft, more } = this.#scansLeft(codeNo, scanLimit);
    this.#here().put({
      key,
      codeNo,
      workspaceNo,
      target,
      expiresAtMs,
      scansLeft,
      state: 'live',
    });
    // Only now: after a put that failed the counter is still to be set.
    if (more !== 0) this.#here().addScans(key, more);
    if (scanLimit === undefined) this.#limits.delete(codeNo);
    else this.#limits.set(codeNo, scanLimit);
  }

  /**
   * A limit that is counted down already changes by the difference, exactly, whatever is scanned
   * meanwhile; a new one begins at what is counted, which runs behind by a window (about 120 ms). A code
   * that is over its limit stands below zero, so that a raised limit gives no more than it should.
   */
  #scansLeft(codeNo: number, scanLimit: number | undefined): { scansLeft: number; more: number } {
    if (scanLimit === undefined) return { scansLeft: noLimit, more: 0 };
    const before = this.#limits.get(codeNo);
    if (before !== undefined) return { scansLeft: KEEP_SCANS_LEFT, more: scanLimit - before };
    const left = scanLimit - this.#scansOf(codeNo);
    return { scansLeft: Math.max(0, left), more: Math.min(0, left) };
  }
}

const emptyCursor: LinkCursor = {
  bytes: Buffer.alloc(0),
  codeNo: 0,
  workspaceNo: 0,
  expiresAtMs: 0,
  isLimited: false,
  isGone: false,
  keyStart: 0,
  keyEnd: 0,
  targetEnd: 0,
};
