/**
 * The stored side of the short links: what the link table is filled from at start, and how a
 * committed change gets into it.
 */
import { KEEP_SCANS_LEFT } from '../links/layout.ts';
import { Failure } from '../model/failure.ts';
import { foldShortCode, type QrCodeRecord } from '../model/code.ts';
import {
  eachLink,
  type LinkCursor,
  linkBlockOf,
  linkIn,
  linksIn,
  type StoredLink,
  withLink,
} from '../store/link-blocks.ts';
import type { Management } from '../store/management.ts';
import type { LinkTable } from './link-table.ts';

const noLimit = -1;
/** Late links one wake tries: about 1 ms. */
const lateBatchMax = 100;

export class LinkBook {
  readonly #store: Management;
  readonly #table: LinkTable;
  readonly #scansOf: (codeNo: number) => number;
  /** The limit the table counts down from, by code; as many entries as there are limited codes. */
  readonly #limits = new Map<number, number>();
  /** Codes whose committed link is not in the table yet. */
  readonly #late = new Set<number>();

  constructor(store: Management, table: LinkTable, scansOf: (codeNo: number) => number) {
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
    let count = 0;
    const cursor: LinkCursor = { ...emptyCursor };
    const adopt = (): void => {
      if (cursor.isLimited && !cursor.isGone) this.#late.add(cursor.codeNo);
      else this.#table.adopt(cursor);
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
  }

  /**
   * Brings the newest committed link of a code into the link table.
   * @throws Failure storage_full, overloaded (links/writer.ts): the change is committed all the same,
   *   and `wakeLate` brings it in when there is room again
   */
  wake(code: QrCodeRecord): void {
    if (code.shortCode === undefined) return;
    if (this.#late.size > 0) this.wakeLate();
    this.#wake(code.no);
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
    if (link.gone) {
      this.#limits.delete(codeNo);
      this.#table.retire(link.key);
    } else {
      this.#put(link);
    }
    this.#late.delete(codeNo);
  }

  #put({ key, codeNo, workspaceNo, target, expiresAtMs, scanLimit }: StoredLink): void {
    const scansLeft = this.#scansLeft(codeNo, scanLimit);
    this.#table.put({
      key,
      codeNo,
      workspaceNo,
      target,
      expiresAtMs,
      scansLeft,
      state: 'live',
    });
    // Only now: after a put that failed the counter is still to be set.
    if (scanLimit === undefined) this.#limits.delete(codeNo);
    else this.#limits.set(codeNo, scanLimit);
  }

  #scansLeft(codeNo: number, scanLimit: number | undefined): number {
    if (scanLimit === undefined) return noLimit;
    if (this.#limits.get(codeNo) === scanLimit) return KEEP_SCANS_LEFT;
    return Math.max(0, scanLimit - this.#scansOf(codeNo));
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
