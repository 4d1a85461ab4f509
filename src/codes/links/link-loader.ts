/**
 * From the stored links to the link table: all of them at start, and each one when its change is committed.
 * Publishing reads the newest committed link, so publishing in any order ends with the newest.
 */
import { keepScansLeft } from '../../links/layout.ts';
import { Failure } from '../../model/failure.ts';
import { foldShortCode, type QrCodeRecord } from '../../model/code.ts';
import {
  createLinkCursor,
  eachLink,
  linkBlockOf,
  linkIn,
  linksIn,
  type StoredLink,
  withLink,
} from '../../store/management/link-blocks.ts';
import type { Management } from '../../store/management/management.ts';
import type { LinkTable } from './link-table.ts';
import type { CodeNo } from '../../model/numbers.ts';

const noLimit = -1;
/** The table is in another process, which reads the numbered changes (link-refresher.ts). */
export type Remote = 'remote';

/** Pending links that one publish tries: about 1 ms. */
const pendingBatchMax = 100;

export class LinkLoader {
  readonly #store: Management;
  readonly #table: LinkTable | Remote;
  readonly #scansOf: (codeNo: CodeNo) => number;
  /** The limit the table counts down from, by code; as many entries as there are limited codes. */
  readonly #limits = new Map<number, number>();
  /** Codes whose committed link is not in the table yet. */
  readonly #pending = new Set<number>();

  constructor(store: Management, table: LinkTable | Remote, scansOf: (codeNo: CodeNo) => number) {
    this.#store = store;
    this.#table = table;
    this.#scansOf = scansOf;
  }

  /**
   * Fills the empty link table at start, but for limited codes: how many scans those have left is known
   * only when everything journaled is counted. @returns how many links, tombstones included
   */
  load(): number {
    const table = this.#localTable();
    const cursor = createLinkCursor();
    let count = 0;
    const take = (): void => {
      if (cursor.isLimited && !cursor.isDeleted) this.#pending.add(cursor.codeNo);
      else table.bulkLoad(cursor);
      count++;
    };
    for (const { key, value } of this.#store.links.range({})) eachLink(key, value, cursor, take);
    return count;
  }

  /** The limited codes that `load` left out, with the scans they have left now; what does not fit stays pending. */
  loadLimited(): void {
    for (let before = 0; this.#pending.size !== before;) {
      before = this.#pending.size;
      this.publishPending();
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
      // 0 would be never.
      expiresAtMs: code.expiresAtMs === undefined ? 0 : Math.max(1, code.expiresAtMs),
      scanLimit: code.scanLimit,
      isDeleted: code.deletedAtMs !== undefined,
    };
    this.#store.links.put(block, withLink(this.#store.links.get(block), link));
    if (this.#table === 'remote') {
      this.#store.bulk.linkChanges.put(this.#store.next('link'), code.no);
    }
  }

  /**
   * Brings the newest committed link of a code into the link table.
   * @throws Failure storage_full, overloaded (links/writer.ts): the change is committed all the same,
   *   and `publishPending` brings it in when the table has capacity again
   */
  publish(code: QrCodeRecord): void {
    if (code.shortCode === undefined || this.#table === 'remote') return;
    if (this.#pending.size > 0) this.publishPending();
    this.#publish(code.no);
  }

  /**
   * The same for many at once, about 5 us each; what does not fit stays pending. Codes without a link,
   * which are the static ones, are passed over.
   */
  publishMany(codeNos: readonly CodeNo[]): void {
    if (this.#table === 'remote' || codeNos.length === 0) return;
    this.#store.environment.refresh();
    const wanted = new Set(codeNos);
    for (const blockNo of new Set(codeNos.map(linkBlockOf))) {
      const block = this.#store.links.get(blockNo);
      if (block === undefined) continue;
      for (const link of linksIn(blockNo, block)) {
        if (wanted.has(link.codeNo)) this.#tryPut(link);
      }
    }
  }

  /** Committed links that do not fit into the link table. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Tries the pending links again, a batch at most. Called by every publish and every 30 s. */
  publishPending(): void {
    for (const codeNo of [...this.#pending].slice(0, pendingBatchMax)) {
      try {
        this.#publish(codeNo);
      } catch (error) {
        if (error instanceof Failure) return;
        throw error;
      }
    }
  }

  #publish(codeNo: CodeNo): void {
    this.#pending.add(codeNo);
    this.#store.environment.refresh();
    const block = this.#store.links.get(linkBlockOf(codeNo));
    const link = block === undefined ? undefined : linkIn(block, codeNo);
    if (link === undefined) throw new Error(`Cannot publish code ${codeNo}: it has no stored link`);
    this.#put(link);
  }

  #tryPut(link: StoredLink): void {
    this.#pending.add(link.codeNo);
    try {
      this.#put(link);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }

  #put(link: StoredLink): void {
    if (link.isDeleted) {
      this.#limits.delete(link.codeNo);
      this.#localTable().delete(link.key);
    } else {
      this.#putLive(link);
    }
    this.#pending.delete(link.codeNo);
  }

  #localTable(): LinkTable {
    if (this.#table !== 'remote') return this.#table;
    throw new Error('Cannot publish a link: the link table is in another process');
  }

  #putLive({ key, codeNo, workspaceNo, target, expiresAtMs, scanLimit }: StoredLink): void {
    const { scansLeft, more } = this.#scansLeft(codeNo, scanLimit);
    const table = this.#localTable();
    table.put({ key, codeNo, workspaceNo, target, expiresAtMs, scansLeft, state: 'live' });
    // Only now: after a put that failed the counter is still to be set.
    if (more !== 0) table.addScans(key, more);
    if (scanLimit === undefined) this.#limits.delete(codeNo);
    else this.#limits.set(codeNo, scanLimit);
  }

  /**
   * A limit that is counted down already changes by the difference, exactly, whatever is scanned
   * meanwhile; a new one begins at what is counted, which runs behind by a window (about 120 ms). A code
   * that is over its limit stands below zero, so that a raised limit gives no more than it should.
   */
  #scansLeft(codeNo: CodeNo, scanLimit: number | undefined): { scansLeft: number; more: number } {
    if (scanLimit === undefined) return { scansLeft: noLimit, more: 0 };
    const before = this.#limits.get(codeNo);
    if (before !== undefined) return { scansLeft: keepScansLeft, more: scanLimit - before };
    const left = scanLimit - this.#scansOf(codeNo);
    return { scansLeft: Math.max(0, left), more: Math.min(0, left) };
  }
}
