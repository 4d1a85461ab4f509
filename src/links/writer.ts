/**
 * The write side of the link table: one, on the control thread. Every change is complete and visible
 * to every reader when its method returns; a method that throws has changed nothing.
 *
 *   put      allocate -> write program and entry -> swap or fill the slot -> quarantine the old ones
 *   delete   set the tombstone bit -> quarantine target, counter cell and program; the same for `damaged`
 *
 * `delete` needs no memory, so a deletion works when the arena is full. The order inside it matters:
 * after the bit no look-up serves the target; a reader that found it before keeps its bytes until
 * its cycle of the event loop ends.
 *
 * A limited code's scans are counted down in a cell of their own that all entries of the code point
 * at: re-targeting it (`keepScansLeft`) copies no number and so loses none that is taken meanwhile,
 * and a changed limit is an addition (`addScans`).
 */
import { Failure } from '../model/failure.ts';
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
  unitBytes,
} from './layout.ts';
import { checkLink } from './link-check.ts';
import { Quarantine } from './quarantine.ts';
import { Slots } from './slots.ts';
import type { StoredLinkBytes } from './stored-link-bytes.ts';
import { ZoneCells } from './zone-cells.ts';
import type { Clock } from '../model/clock.ts';
import type { LinkState } from '../model/code.ts';

/** Blocks that enter quarantine before it is searched again for free ones. */
const freeEvery = 64;
/** The most blocks one change sets free: an entry, its counter cell, its program. */
const blocksPerChange = 3;
/** A change waits this long for readers when quarantine is full; a cycle lasts about a millisecond. */
const waitMs = 1;
const waitsMax = 20;
/** Slots that one `free` moves: about a millisecond. */
const idleMoveSlots = 16_384;

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
  /** Quarantine is searched for free blocks when it holds so many. */
  #freeAt = freeEvery;

  /** @param clock for programs that name time zones */
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

  /** Links that are live. */
  get count(): number {
    return this.#live;
  }

  /** Keys that are deleted: theirs for ever. */
  get tombstones(): number {
    return this.#slots.used - this.#live;
  }

  /** Shared memory the table has committed, all regions. */
  get bytesUsed(): number {
    return (
      this.#memory.control.byteLength + this.#memory.slots.byteLength + this.#arena.committedBytes
    );
  }

  /** Of `bytesUsed`: entries can take these without growth. */
  get bytesFree(): number {
    return this.#arena.freeBytes;
  }

  /** Of `bytesUsed`: waits for readers to leave. */
  get bytesWaiting(): number {
    return this.#quarantine.waitingUnits * unitBytes;
  }

  /** Of `bytesUsed`: given up by deletions while a stuck reader kept quarantine full. */
  get bytesLost(): number {
    return this.#lostUnits * unitBytes;
  }

  /**
   * Adds a link, or replaces the one of this key; every reader sees it before this returns.
   * @throws Failure `storage_full` at the bound of slots or arena, `overloaded` when a reader has
   *   been in one cycle for so many changes that nothing can be freed; nothing is changed then
   */
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
    const programBefore = before === 0 ? 0 : this.#programOf(before);
    if (cell !== 0 && link.scansLeft >= 0) this.#setCell(cell, link.scansLeft);
    this.#show(before, entry);
    if (cellBefore !== 0 && cellBefore !== cell) this.#quarantine.add(cellBefore, 1);
    if (programBefore !== 0) {
      this.#quarantine.add(programBefore, this.#entries.unitsOf(programBefore));
    }
    this.#freeSometimes();
  }

  /**
   * Fills the table at start, from bytes as they are stored: no texts are made, and nothing is searched
   * for, so the caller vouches that the key is folded, the target printable and neither known yet.
   * @throws Failure `storage_full`
   */
  bulkLoad(link: StoredLinkBytes): void {
    const { bytes, keyStart, keyEnd, state } = link;
    const { key } = this.#finder;
    key.take(bytes, keyStart, keyEnd);
    this.#slots.reserve();
    const entry = this.#entries.writeStored(link, tombstoneBits[state]);
    if (state === 'live') this.#live += 1;
    this.#slots.insert(key.tag, entry);
  }

  /**
   * Ends a link for ever: readers see it as deleted, only its tombstone stays. A key that is unknown
   * gets a tombstone too. Needs no memory for a known key.
   */
  delete(key: string): void {
    this.#slots.moveSome();
    if (this.#finder.findKey(key) === 0) this.#putTombstone({ ...tombstone, key });
    else this.#end(key, shapeBit.tombstone);
  }

  /** Makes the entry of a known key a tombstone. @param bits of a tombstone */
  #end(key: string, bits: number): void {
    const entry = this.#finder.findKey(key);
    const words = this.#arena.chunkOf(entry);
    const at = wordOf(entry);
    const shape = words[at + entryWord.shape]!;
    if ((shape & shapeBit.tombstone) !== 0) {
      // A deletion is for ever; what was damaged may be deleted.
      if (bits === shapeBit.tombstone) {
        Atomics.store(words, at + entryWord.shape, shape & ~shapeBit.damaged);
      }
      return;
    }
    const cell = this.#cellOf(entry);
    const program = this.#programOf(entry);
    Atomics.store(words, at + entryWord.shape, shape | bits);
    this.#live -= 1;
    const kept = tombstoneUnits(shape);
    this.#discard(entry + kept, liveUnits(shape) - kept);
    if (cell !== 0) this.#discard(cell, 1);
    if (program !== 0) this.#discard(program, this.#entries.unitsOf(program));
    this.#freeSometimes();
  }

  /** Scans left of a live, limited link; undefined when it has no limit, is deleted or unknown. */
  scansLeft(key: string): number | undefined {
    const cell = this.#cellOfKey(key);
    if (cell === 0) return undefined;
    return Math.max(0, Atomics.load(this.#arena.chunkOf(cell), wordOf(cell)));
  }

  /**
   * Takes all scans left of a limited link at once: none is taken by a reader afterwards, none twice.
   * @returns what the cell held, below zero when more were taken than a lowered limit has; undefined without a limit
   */
  takeScansLeft(key: string): number | undefined {
    const cell = this.#cellOfKey(key);
    if (cell === 0) return undefined;
    return Atomics.exchange(this.#arena.chunkOf(cell), wordOf(cell), 0);
  }

  /** Raises or lowers (negative) the scans left of a limited link, exactly, while readers take some. */
  addScans(key: string, scans: number): void {
    const cell = this.#cellOfKey(key);
    if (cell === 0) throw new Error('Cannot add scans: the link has no limit, expected one');
    Atomics.add(this.#arena.chunkOf(cell), wordOf(cell), scans);
  }

  /**
   * Frees what no reader can see any more, goes on with a move, and looks at the clocks of time zones, when idle; twice a
   * minute.
   */
  free(): void {
    this.#slots.move(idleMoveSlots);
    this.#freeBlocks();
    this.#zones.renew();
  }

  #putTombstone(link: Link): void {
    this.#slots.moveSome();
    this.#ensureCapacity();
    if (this.#finder.findKey(link.key) !== 0) {
      this.#end(link.key, tombstoneBits[link.state]);
      return;
    }
    this.#slots.reserve();
    const entry = this.#writeEntry({ ...link, ...ended }, 0, 0);
    this.#slots.insert(this.#finder.key.tag, entry);
  }

  /** Swaps a known key's slot to `entry` or fills one for a new key. */
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

  /** The program of a live entry; 0 = none. */
  #programOf(entry: number): number {
    const shape = this.#arena.chunkOf(entry)[wordOf(entry) + entryWord.shape]!;
    return (shape & shapeBit.tombstone) === 0 ? this.#entries.programOf(entry) : 0;
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

  #setCell(cell: number, scansLeft: number): void {
    Atomics.store(this.#arena.chunkOf(cell), wordOf(cell), scansLeft);
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
        throw new Failure(
          'overloaded',
          'Cannot change the link: a redirect thread does not answer',
          {
            retryAfterSeconds: 1,
          },
        );
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

/** What a tombstone keeps nothing of. */
const ended = { target: '', expiresAtMs: 0, program: undefined } as const;

const tombstone: Link = {
  key: '',
  codeNo: 0,
  workspaceNo: 0,
  ...ended,
  scansLeft: -1,
  state: 'deleted',
};
