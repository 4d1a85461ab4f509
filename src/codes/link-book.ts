/**
 * The stored side of the short links: what the link table is filled from at start, and how a
 * committed change gets into it.
 */
import { KEEP_SCANS_LEFT, type Link } from '../links/layout.ts';
import { foldShortCode, type QrCodeRecord } from '../model/code.ts';
import { linkBlockOf, linkIn, linksIn, withLink, type StoredLink } from '../store/link-blocks.ts';
import type { Management } from '../store/management.ts';
import type { LinkTable } from './link-table.ts';

const noLimit = -1;

export class LinkBook {
  readonly #store: Management;
  readonly #table: LinkTable;
  readonly #scansOf: (codeNo: number) => number;
  /** The limit the table counts down from, by code; as many entries as there are limited codes. */
  readonly #limits = new Map<number, number>();

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

  /** Fills the link table at start. @returns how many links, tombstones included */
  load(): number {
    let count = 0;
    for (const { key, value } of this.#store.links.range({})) {
      for (const link of linksIn(key, value)) {
        if (link.gone) this.#table.put(tombstone(link));
        else this.#put(link);
        count++;
      }
    }
    return count;
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

  /** Brings the newest committed link of a code into the link table. */
  wake(code: QrCodeRecord): void {
    if (code.shortCode === undefined) return;
    this.#store.environment.refresh();
    const block = this.#store.links.get(linkBlockOf(code.no));
    const link = block === undefined ? undefined : linkIn(block, code.no);
    if (link === undefined) throw new Error(`Cannot wake code ${code.no}: it has no stored link`);
    if (!link.gone) {
      this.#put(link);
      return;
    }
    this.#limits.delete(code.no);
    this.#table.retire(link.key);
  }

  #put(link: StoredLink): void {
    const { key, codeNo, workspaceNo, target, expiresAtMs, scanLimit } = link;
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
  }

  #scansLeft(codeNo: number, scanLimit: number | undefined): number {
    if (scanLimit === undefined) {
      this.#limits.delete(codeNo);
      return noLimit;
    }
    if (this.#limits.get(codeNo) === scanLimit) return KEEP_SCANS_LEFT;
    this.#limits.set(codeNo, scanLimit);
    return Math.max(0, scanLimit - this.#scansOf(codeNo));
  }
}

function tombstone({ key, codeNo, workspaceNo }: StoredLink): Link {
  return {
    key,
    codeNo,
    workspaceNo,
    target: '',
    expiresAtMs: 0,
    scansLeft: noLimit,
    state: 'gone',
  };
}
