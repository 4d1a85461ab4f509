/**
 * The write side of the link table, on the control thread only. When a method returns, every reader sees its
 * change; a method that throws has changed nothing.
 *
 *   put      allocate -> write program and entry -> swap or fill the slot -> quarantine the old ones
 *   delete   set the tombstone bit -> quarantine target, counter cell and program; the same for `damaged`
 *
 * `delete` of a known key needs no memory, so it works when the arena is full. All entries of a limited code share a cell
 * that counts its scans down: a new target (`keepScansLeft`) copies no number and so loses no scan.
 */
import { Failure } from '../../model/failure.ts';
import { Arena } from './arena.ts';
import { Finder, wordOf } from './finder.ts';
import { EntryWriter } from './entry-writer.ts';
import {
  controlWord,
  entryWord,
  tombstoneUnits,
  keepScansLeft,
  type Link,
  type LinkTableMemory,
  limitWord,
  liveUnits,
  shapeBit,
  targetBytesMax,
  unitBytes,
} from './layout.ts';
import { Quarantine } from './quarantine.ts';
import { Slots } from './slots.ts';
import { ZoneCells } from './zone-cells.ts';
import type { Clock } from '../../model/clock.ts';
import type { LinkState } from '../../model/code.ts';

/** Blocks that enter quarantine between two searches for free ones. */
const freeEvery = 64;
const blocksPerChange = 3;
/** When quarantine is full, a change waits 20 times this long for readers, whose cycles last about 1 ms. */
const waitMs = 1;
const waitsMax = 20;
/** Slots that one `free` moves: about 1 ms. */
const idleMoveSlots = 16_384;
const scansLeftMax = 2 ** 31 - 1;
/** Excludes everything that could end a `Location` header. */
const printableAscii = /^[!-~]+$/;

export class LinkWriter {
  readonly #memory: LinkTableMemory;
  readonly #control: Int32Array;
  readonly #finder: Finder;
  readonly #arena: Arena;
  readonly #slots: Slots;
  readonly #zones: ZoneCells;
  readonly #entries: EntryWriter;
  readonly #quarantine: Quarantine;
  readonly #release: (block: number, units: number) => void;
  readonly #sleep = new Int32Array(new SharedArrayBuffer(4));
  #live = 0;
  #lostUnits = 0;
  #freeAt = freeEvery;

  constructor(memory: LinkTableMemory, clock: Pick<Clock, 'now'>) {
    this.#memory = memory;
    this.#control = new Int32Array(memory.control);
    if (Atomics.exchange(this.#control, controlWord.writerAttached, 1) !== 0) {
      throw new Error('Cannot write links: the table has a writer, expected none');
    }
    this.#finder = new Finder(memory);
    this.#arena = new Arena(memory.arena);
    this.#slots = new Slots(memory, this.#control);
    this.#zones = new ZoneCells(this.#arena, () => clock.now());
    this.#entries = new EntryWriter(this.#arena, this.#zones, this.#finder.key);
    this.#quarantine = new Quarantine(this.#control);
    this.#release = (block, units) => this.#arena.release(block, units);
  }

  get count(): number {
    return this.#live;
  }

  /** Deleted keys, which stay forever. */
  get tombstones(): number {
    return this.#slots.used - this.#live;
  }

  get bytesUsed(): number {
    return (
      this.#memory.control.byteLength + this.#memory.slots.byteLength + this.#arena.committedBytes
    );
  }

  /** Part of `bytesUsed` that entries can take without growth. */
  get bytesFree(): number {
    return this.#arena.freeBytes;
  }

  /** Part of `bytesUsed` in quarantine. */
  get bytesWaiting(): number {
    return this.#quarantine.waitingUnits * unitBytes;
  }

  /** Part of `bytesUsed` lost by deletions while a stuck reader kept quarantine full. */
  get bytesLost(): number {
    return this.#lostUnits * unitBytes;
  }

  /** Adds or replaces a link. @throws Failure `storage_full`, `overloaded` when a stuck reader keeps quarantine full */
  put(link: Link): void {
    if (link.state !== 'live') {
      this.#putTombstone(link);
      return;
    }
    checkLink(link);
    this.#slots.moveSome();
    this.#ensureCapacity();
    const before = this.#finder.findKey(link.key);
    if (before === 0) this.#slots.reserve();
    const cellBefore = before === 0 ? 0 : this.#cellOf(before);
    const cell = this.#cellFor(link.scansLeft, cellBefore);
    const entry = this.#writeEntry(link, cell, cell === cellBefore ? 0 : cell);
    const programBefore = before === 0 ? 0 : this.#entries.programOf(before);
    if (cell !== 0 && link.scansLeft >= 0) {
      Atomics.store(this.#arena.chunkOf(cell), wordOf(cell), link.scansLeft);
    }
    this.#show(before, entry);
    if (cellBefore !== 0 && cellBefore !== cell) this.#quarantine.add(cellBefore, 1);
    if (programBefore !== 0) {
      this.#quarantine.add(programBefore, this.#entries.unitsOf(programBefore));
    }
    this.#freeSometimes();
  }

  /**
   * Fills the table at the start, without checks and without a search: the key must be new, the target printable, and the
   * link without a limit. @throws Failure `storage_full`
   */
  bulkLoad(link: Omit<Link, 'scansLeft'>): void {
    const { key } = this.#finder;
    if (!key.fold(link.key, 0)) throw new Error(`Cannot load a link: key ${link.key}`);
    this.#slots.reserve();
    const isLive = link.state === 'live';
    const loaded = isLive ? link : { ...link, ...ended };
    const entry = this.#entries.write(loaded, tombstoneBits[link.state], 0);
    if (isLive) this.#live += 1;
    this.#slots.insert(key.tag, entry);
  }

  /** Leaves a tombstone forever, also for an unknown key. A known key needs no memory. */
  delete(key: string): void {
    this.#putTombstone({ ...tombstone, key });
  }

  #end(entry: number, bits: number): void {
    const words = this.#arena.chunkOf(entry);
    const at = wordOf(entry);
    const shape = words[at + entryWord.shape]!;
    if ((shape & shapeBit.tombstone) !== 0) {
      // A damaged link may be deleted, a deleted one stays deleted.
      if (bits === shapeBit.tombstone) {
        Atomics.store(words, at + entryWord.shape, shape & ~shapeBit.damaged);
      }
      return;
    }
    const cell = this.#cellOf(entry);
    const program = this.#entries.programOf(entry);
    Atomics.store(words, at + entryWord.shape, shape | bits);
    this.#live -= 1;
    const kept = tombstoneUnits(shape);
    this.#discard(entry + kept, liveUnits(shape) - kept);
    if (cell !== 0) this.#discard(cell, 1);
    if (program !== 0) this.#discard(program, this.#entries.unitsOf(program));
    this.#freeSometimes();
  }

  /** Of a live link; undefined without a limit. */
  scansLeft(key: string): number | undefined {
    const cell = this.#cellOfKey(key);
    if (cell === 0) return undefined;
    return Math.max(0, Atomics.load(this.#arena.chunkOf(cell), wordOf(cell)));
  }

  /** Takes all scans left in one step; below zero = over a lowered limit, undefined = no limit. */
  takeScansLeft(key: string): number | undefined {
    const cell = this.#cellOfKey(key);
    if (cell === 0) return undefined;
    return Atomics.exchange(this.#arena.chunkOf(cell), wordOf(cell), 0);
  }

  /** Adds to the scans left of a limited link, or subtracts, exactly, while readers take some. */
  addScans(key: string, scans: number): void {
    const cell = this.#cellOfKey(key);
    if (cell === 0) throw new Error('Cannot add scans: the link has no limit, expected one');
    Atomics.add(this.#arena.chunkOf(cell), wordOf(cell), scans);
  }

  /** Housekeeping, twice a minute: continues a move, frees blocks, renews the clocks of time zones. */
  free(): void {
    this.#slots.move(idleMoveSlots);
    this.#freeBlocks();
    this.#zones.renew();
  }

  #putTombstone(link: Link): void {
    this.#slots.moveSome();
    const known = this.#finder.findKey(link.key);
    if (known !== 0) {
      this.#end(known, tombstoneBits[link.state]);
      return;
    }
    this.#slots.reserve();
    const entry = this.#writeEntry({ ...link, ...ended }, 0, 0);
    this.#slots.insert(this.#finder.key.tag, entry);
  }

  #show(before: number, entry: number): void {
    const tag = this.#finder.key.tag;
    if (before === 0) {
      this.#slots.insert(tag, entry);
      this.#live += 1;
      return;
    }
    this.#slots.swap(tag, before, entry);
    const shape = this.#arena.chunkOf(before)[wordOf(before) + entryWord.shape]!;
    const wasDeleted = (shape & shapeBit.tombstone) !== 0;
    if (wasDeleted) this.#live += 1;
    this.#quarantine.add(before, wasDeleted ? tombstoneUnits(shape) : liveUnits(shape));
  }

  /** The counter cell of a live, limited entry; 0 = none. */
  #cellOf(entry: number): number {
    const words = this.#arena.chunkOf(entry);
    const at = wordOf(entry);
    const shape = words[at + entryWord.shape]!;
    if ((shape & (shapeBit.limited | shapeBit.tombstone)) !== shapeBit.limited) return 0;
    return words[at + limitWord(shape)]! >>> 0;
  }

  #cellOfKey(key: string): number {
    const entry = this.#finder.findKey(key);
    return entry === 0 ? 0 : this.#cellOf(entry);
  }

  #cellFor(scansLeft: number, before: number): number {
    if (scansLeft === keepScansLeft) return before;
    if (scansLeft < 0) return 0;
    return before === 0 ? this.#arena.allocate(1) : before;
  }

  /** Writes the entry of the key folded last. @param newCell released when the arena is full */
  #writeEntry(link: Link, cell: number, newCell: number): number {
    try {
      return this.#entries.write(link, tombstoneBits[link.state], cell);
    } catch (error) {
      if (newCell !== 0) this.#arena.release(newCell, 1);
      throw error;
    }
  }

  #discard(block: number, units: number): void {
    if (units === 0) return;
    if (!this.#quarantine.hasCapacityFor(1)) this.#freeBlocks();
    if (this.#quarantine.hasCapacityFor(1)) this.#quarantine.add(block, units);
    else this.#lostUnits += units;
  }

  #ensureCapacity(): void {
    for (let waits = 0; !this.#quarantine.hasCapacityFor(blocksPerChange); waits += 1) {
      this.#freeBlocks();
      if (this.#quarantine.hasCapacityFor(blocksPerChange)) return;
      if (waits === waitsMax) {
        const detail = 'Cannot change the link: a redirect thread does not answer';
        throw new Failure('overloaded', detail, { retryAfterSeconds: 1 });
      }
      Atomics.wait(this.#sleep, 0, 0, waitMs);
    }
  }

  #freeSometimes(): void {
    if (this.#quarantine.size >= this.#freeAt) this.#freeBlocks();
  }

  #freeBlocks(): void {
    this.#quarantine.free(this.#release);
    this.#freeAt = this.#quarantine.size + freeEvery;
  }
}

const tombstoneBits: Readonly<Record<LinkState, number>> = {
  live: 0,
  deleted: shapeBit.tombstone,
  damaged: shapeBit.tombstone | shapeBit.damaged,
};

const ended = { target: '', expiresAtMs: 0, program: undefined } as const;

const tombstone: Link = {
  key: '',
  codeNo: 0,
  workspaceNo: 0,
  ...ended,
  scansLeft: -1,
  state: 'deleted',
};

/** The product validates; a wrong value here is a defect. */
function checkLink({ target, expiresAtMs, scansLeft }: Link): void {
  if (target.length < 1 || target.length > targetBytesMax) {
    throw new Error(
      `Cannot put a link: target of ${target.length} bytes, expected 1 to ${targetBytesMax}`,
    );
  }
  if (!printableAscii.test(target)) {
    throw new Error('Cannot put a link: target holds other characters, expected printable ASCII');
  }
  if (!Number.isSafeInteger(expiresAtMs) || expiresAtMs < 0) {
    throw new Error(
      `Cannot put a link: expires at ${expiresAtMs}, expected epoch milliseconds or 0`,
    );
  }
  if (!Number.isInteger(scansLeft) || scansLeft < keepScansLeft || scansLeft > scansLeftMax) {
    throw new Error(`Cannot put a link: ${scansLeft} scans left, expected -2 to ${scansLeftMax}`);
  }
}
