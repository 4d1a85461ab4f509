/**
 * Brings stored links into the link table: all at start, and each one after its change is committed. Publishing reads the
 * newest committed link, so any order of publishing ends with the newest.
 *
 * A damaged block is rebuilt from its codes' records (engine/links/link-repair.ts). If a link
 * cannot be read, or its limit has no readable scans to count down from, the table has it as damaged: it is refused.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../../model/clock.ts';
import { Failure } from '../../../model/failure.ts';
import type { QrCodeRecord } from '../../../model/code.ts';
import {
  codesOfBlock,
  linkBlockOf,
  linkIn,
  linksIn,
  type StoredLink,
  withLink,
} from '../../../engine/links/link-blocks.ts';
import { numberLinkChange } from '../../../store/management/link-changes.ts';
import { linkOf, readLinkBlock, repairLinkBlock } from '../../../engine/links/link-repair.ts';
import type { Management } from '../../../store/management/management.ts';
import type { Logger } from '../../../platform/log.ts';
import { CountedLimits } from './counted-limits.ts';
import type { LinkTable } from './link-table.ts';
import type { CodeNo } from '../../../model/numbers.ts';

const noLimit = -1;

const nowhere = { target: '', expiresAtMs: 0, scansLeft: noLimit, state: 'damaged' } as const;

/** Blocks that `publishAll` publishes without a pause: about 2 ms. */
const publishedBlocksMax = 25;
/** Limited codes that `closeLimits` looks at without a pause: about 1 ms. */
const lookedLimitsMax = 100;
/** Pending links that one publish tries: about 1 ms. */
const pendingBatchMax = 100;

export class LinkLoader {
  readonly #store: Management;
  readonly #table: LinkTable;
  readonly #limits: CountedLimits;
  /** Codes whose committed link is not in the table yet. */
  readonly #pending = new Set<number>();
  /** From `load` to `loadLimited`: what limited codes have left is not known yet. */
  #isLoading = false;
  /** Codes that are in the table as damaged. */
  readonly #damaged = new Set<number>();
  /** Blocks that are being written again. */
  readonly #repairing = new Set<number>();
  /** Blocks that were damaged and made again. */
  repairedBlocks = 0;

  constructor(store: Management, table: LinkTable, scansOf: (codeNo: CodeNo) => number) {
    this.#store = store;
    this.#table = table;
    this.#limits = new CountedLimits(scansOf);
  }

  /**
   * Fills the empty link table at start, except with limited codes: how many scans those have left is known
   * only when everything journaled is counted. @returns how many links, tombstones included
   */
  load(): number {
    const table = this.#table;
    this.#isLoading = true;
    let count = 0;
    const take = (link: StoredLink): void => {
      const isLimited = link.scanLimit !== undefined && link.state === 'live';
      if (isLimited) this.#pending.add(link.codeNo);
      else table.bulkLoad(link);
      if (link.state === 'damaged') this.#damaged.add(link.codeNo);
      count++;
    };
    const damaged: number[] = [];
    const { links } = this.#store;
    const blocks = links.range({}, (blockNo) => damaged.push(blockNo));
    for (const { key, value } of blocks) linksIn(key, value).forEach(take);
    for (const blockNo of damaged) {
      const block = this.#block(blockNo);
      if (block !== undefined) linksIn(blockNo, block).forEach(take);
    }
    return count;
  }

  /** The block of the store. A damaged block is rebuilt, in the store as soon as that takes writes. */
  #block(blockNo: number): Uint8Array | undefined {
    const { links, environment } = this.#store;
    return links.get(blockNo, () => {
      if (!this.#repairing.has(blockNo)) {
        this.#repairing.add(blockNo);
        this.repairedBlocks++;
        const repair = (): void => repairLinkBlock(this.#store, blockNo);
        const ended = (): unknown => this.#repairing.delete(blockNo);
        environment.transaction(repair).catch(ignoreFullDisk).finally(ended);
      }
      return readLinkBlock(this.#store, blockNo);
    });
  }

  /** The limited codes that `load` left out, with the scans they have left now; what does not fit stays pending. */
  loadLimited(): void {
    this.#isLoading = false;
    for (let before = 0; this.#pending.size !== before;) {
      before = this.#pending.size;
      this.publishPending();
    }
  }

  #takeScansLeft(codeNo: CodeNo): number | undefined {
    const block = this.#block(linkBlockOf(codeNo));
    const link = block === undefined ? undefined : linkIn(block, codeNo);
    return link === undefined ? undefined : this.#table.takeScansLeft(link.key);
  }

  /**
   * In a cluster every node counts down by itself: leaves nothing of a limit that the scans of all nodes have reached,
   * as far as they are counted. A limit that is raised gives what is left of it by then. Called a few times a second.
   */
  async closeLimits(): Promise<void> {
    let looked = 0;
    this.#store.environment.refresh();
    for (const codeNo of this.#limits.codeNos) {
      if (!this.#isLoading && this.#limits.isToClose(codeNo)) {
        this.#takeScansLeft(codeNo);
        this.#limits.close(codeNo);
      }
      if (++looked % lookedLimitsMax === 0) await yieldToEventLoop();
    }
  }

  /** Writes the link of a dynamic code and numbers the change. Inside the transaction of its change. */
  write(code: QrCodeRecord): void {
    const link = linkOf(code);
    if (link === undefined) return;
    const block = linkBlockOf(code.no);
    this.#store.links.put(block, withLink(readLinkBlock(this.#store, block), link));
    numberLinkChange(this.#store, code.no);
  }

  /**
   * Brings the newest committed link of a code into the link table.
   * @throws Failure storage_full, overloaded (engine/links/writer.ts): the change is committed all the same,
   *   and `publishPending` brings it in when the table has capacity again
   */
  publish(code: QrCodeRecord): void {
    if (code.shortCode === undefined) return;
    if (this.#pending.size > 0) this.publishPending();
    this.#publish(code.no);
  }

  /**
   * The same for many at once, about 5 us each; what does not fit stays pending. Codes without a link,
   * which are the static ones, are passed over.
   */
  publishMany(codeNos: readonly CodeNo[]): void {
    if (codeNos.length === 0) return;
    this.#store.environment.refresh();
    const wanted = new Set(codeNos);
    for (const blockNo of new Set(codeNos.map(linkBlockOf))) {
      const block = this.#block(blockNo);
      if (block === undefined) continue;
      for (const link of linksIn(blockNo, block)) {
        if (wanted.has(link.codeNo)) this.#tryPut(link);
      }
    }
  }

  /** The same for all codes, a few blocks at a time. */
  async publishAll(): Promise<void> {
    for (let from = 0; ;) {
      this.#store.environment.refresh();
      const blockNos = [...this.#store.links.keys({ start: from, limit: publishedBlocksMax })];
      this.publishMany(blockNos.flatMap(codesOfBlock));
      if (blockNos.length < publishedBlocksMax) return;
      from = (blockNos.at(-1) ?? 0) + 1;
      await yieldToEventLoop();
    }
  }

  /** Codes with a limit, in the table. */
  get limitedCodes(): Iterable<CodeNo> {
    return this.#limits.codeNos;
  }

  /** Links that are refused because every copy of their target is damaged. */
  get damagedCount(): number {
    return this.#damaged.size;
  }

  /** Committed links that do not fit into the link table. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /**
   * Tries one batch of pending and damaged links again: the newest scans of a damaged one may be readable
   * once counted. Called by every publish and every 30 s.
   */
  publishPending(): void {
    const batch: CodeNo[] = [];
    take(this.#pending, batch);
    take(this.#damaged, batch);
    for (const codeNo of batch) {
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
    this.#put(this.#stored(codeNo));
  }

  #stored(codeNo: CodeNo): StoredLink {
    const block = this.#block(linkBlockOf(codeNo));
    const link = block === undefined ? undefined : linkIn(block, codeNo);
    if (link === undefined) throw new Error(`Cannot publish code ${codeNo}: it has no stored link`);
    return link;
  }

  #tryPut(link: StoredLink): void {
    this.#pending.add(link.codeNo);
    try {
      this.#put(link);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // What the table has of it is older.
      if (this.#isLoading) this.#hide(link.key);
    }
  }

  /** Until the link is put; needs no memory where the table has it. */
  #hide(key: string): void {
    try {
      this.#table.delete(key);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }

  #put(link: StoredLink): void {
    this.#damaged.delete(link.codeNo);
    if (this.#isLoading && link.state === 'live' && link.scanLimit !== undefined) {
      this.#hide(link.key);
      return;
    }
    if (link.state === 'live') this.#putLive(link);
    else if (link.state === 'damaged') this.#refuse(link);
    else {
      this.#limits.delete(link.codeNo);
      this.#table.delete(link.key);
    }
    this.#pending.delete(link.codeNo);
  }

  #refuse({ key, codeNo, workspaceNo }: StoredLink): void {
    this.#limits.delete(codeNo);
    this.#table.put({ ...nowhere, key, codeNo, workspaceNo });
    this.#damaged.add(codeNo);
  }

  #putLive(link: StoredLink): void {
    const { key, codeNo, workspaceNo, target, expiresAtMs, scanLimit, program } = link;
    const left = this.#limits.scansLeft(codeNo, scanLimit);
    if (left === 'unknown') return this.#refuse(link);
    const { scansLeft, more } = left;
    const table = this.#table;
    table.put({ key, codeNo, workspaceNo, target, expiresAtMs, scansLeft, state: 'live', program });
    // Only now: after a put that failed the counter is still to be set.
    if (more !== 0) table.addScans(key, more);
    this.#limits.set(codeNo, scanLimit);
  }
}

/** Fills the table and logs it. */
export function loadLinks(
  loader: LinkLoader,
  { log, clock }: { readonly log: Logger; readonly clock: Pick<Clock, 'monotonicMs'> },
): void {
  const startedMs = clock.monotonicMs();
  const links = loader.load();
  log.info({ links, ms: Math.round(clock.monotonicMs() - startedMs) }, 'links are loaded');
}

/** As many as the batch holds, not a copy of all of them for each batch: a start may have a hundred thousand. */
function take(codeNos: Iterable<CodeNo>, batch: CodeNo[]): void {
  for (const codeNo of codeNos) {
    if (batch.length === pendingBatchMax) return;
    batch.push(codeNo);
  }
}

/** The next change of the block writes it, or the next start. */
function ignoreFullDisk(error: unknown): void {
  if (!(error instanceof Failure)) throw error;
}
