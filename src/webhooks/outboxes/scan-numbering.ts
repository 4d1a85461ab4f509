/**
 * The numbers of this machine's blocks, for those that may lead after it (store/delivery/scan-numbering.ts), and what it
 * takes over from those that led before.
 *
 *   read a block --> its mark        with the next transaction, beside the positions that name it
 *   settled for everybody --> base   the marks of these blocks become one
 *
 * A machine that begins to lead begins an epoch of its own, in its first transaction: it reads its blocks from where its
 * cursor stands (scan-cursor.ts), and leaves out the scans that are settled in the epochs before (settled-scans.ts). These
 * are dropped when all that they tell of is behind it.
 *
 *   the leader dies before that transaction    the next one finds everything as it was
 *   it dies after it                           its epoch, and those before, tell together what is settled
 *   a result was not stored                    the scan is not settled: it is sent again, with the same id and text;
 *                                              a list may be cut elsewhere
 *   a mark or a place is damaged               what it tells of is sent again
 *   the next one had counted less              where it stands is all that counts, for one that led before and was further
 *   a scan arrives here after it was settled   it is recognised by its position in its journal
 */
import type { EndpointNo } from '../../model/numbers.ts';
import { partitionOf } from '../../model/code.ts';
import type { ScanBlock } from '../../scans/block.ts';
import { storedBlocks } from '../../scans/stored-blocks.ts';
import type { Backlog, Position } from '../../store/delivery/delivery.ts';
import type {
  BlockMark,
  NumberingRecord,
  ScanNumberingTables,
  ScanOrder,
  ScanPlaces,
  ScanSpan,
} from '../../store/delivery/scan-numbering.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import { ScanMarks } from '../../store/scans/scan-marks.ts';
import { endBelow, markOf, partOf, spansOf } from './scan-places.ts';
import {
  epochsIn,
  everybody,
  FormerEpoch,
  type IsSettled,
  keysOf,
  marksOf,
} from './settled-scans.ts';
import type { ScanCursor } from './scan-cursor.ts';

/** Marks that are joined to the base at once: that many records less, one written. */
const joinedMin = 32;
/** Between two writes of the cursor. */
const keepMs = 10_000;

export interface ScanNumberingOptions {
  readonly tables: ScanNumberingTables;
  readonly scans: ScanStore;
  /** This machine, and which of its stores: another one after its scans were lost or put back. */
  readonly core: string;
  readonly cursor: ScanCursor;
}

/** What one transaction writes. */
export interface NumberingChange {
  readonly position: Position;
  /** Undefined = the endpoint has none any more. */
  readonly backlogs: ReadonlyMap<EndpointNo, Backlog | undefined>;
  /** Blocks up to here are settled for everybody. */
  readonly floor: number;
}

export class ScanNumbering {
  readonly #options: ScanNumberingOptions;
  readonly #epoch: number;
  #former: readonly FormerEpoch[];
  /** Of this epoch. */
  #base: ScanMarks;
  readonly #marks: Map<number, BlockMark>;
  readonly #unwritten = new Map<number, BlockMark>();
  readonly #settled = new Map<EndpointNo, IsSettled | undefined>();
  /** No later block has a scan of a former epoch. */
  #formerTo = Infinity;
  /** Nothing of this epoch is stored. */
  #isNew: boolean;
  /** Positions and backlogs name blocks of another machine. */
  readonly isTakenOver: boolean;
  #position: Position = [0, 0];
  #keptMs = -Infinity;
  #onCommitted: () => void = () => undefined;

  constructor(options: ScanNumberingOptions) {
    this.#options = options;
    const { tables, core } = options;
    const epochs = epochsIn(tables);
    const newest = epochs.at(-1);
    this.#isNew = newest?.record.core !== core;
    this.isTakenOver = this.#isNew && newest !== undefined;
    this.#epoch = (newest?.epoch ?? 0) + (this.#isNew ? 1 : 0);
    this.#former = epochs
      .filter(({ epoch }) => epoch < this.#epoch)
      .map(({ epoch, record }) => new FormerEpoch(tables, epoch, record));
    this.#base = new ScanMarks(this.#isNew ? [] : newest?.record.base);
    this.#marks = new Map(this.#isNew ? [] : marksOf(tables, this.#epoch));
  }

  /** Whether all places are to be written with the first transaction. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /**
   * Where this machine begins to read after another one: for all, and for an endpoint that lags. An endpoint without a backlog
   * has settled what the former leader had read, and no more: what this machine had read when it led before that one may be
   * further, where the other had not counted it yet, and its backlog of then is no longer there.
   */
  get begin(): { readonly position: Position; readonly to: Position } {
    const { cursor, scans } = this.#options;
    const { delivered } = cursor.blocks;
    const routed = this.#former.at(-1)?.routed;
    if (routed === undefined) return { position: [delivered, 0], to: [delivered, 0] };
    scans.environment.refresh();
    const { block } = endBelow(scans, delivered, routed);
    return { position: [block, 0], to: [delivered, 0] };
  }

  /** The first machine that leads goes on with numbers of its own: what is before them is in the base. */
  adopt(position: Position, floor: number): void {
    const { scans } = this.#options;
    scans.environment.refresh();
    this.#base = ScanMarks.counted(scans);
    for (const [sequence, block] of storedBlocks(scans, { start: floor + 1 })) {
      if (block === undefined) continue;
      eachScan(block, ([codeNo, journal, place]) => {
        this.#base.lower(journal, partitionOf(codeNo), place);
      });
      if (sequence <= position[0] + 1) this.read(block);
    }
  }

  /** A block was read. */
  read(block: ScanBlock): void {
    const { sequence } = block;
    if (this.#marks.has(sequence)) return;
    const mark = markOf(block);
    this.#marks.set(sequence, mark);
    this.#unwritten.set(sequence, mark);
  }

  /** Nobody listens: all blocks that there are count as read. */
  skip(newest: number): void {
    if (this.#marks.has(newest)) return;
    const mark = { all: ScanMarks.counted(this.#options.scans).pack() };
    this.#marks.set(newest, mark);
    this.#unwritten.set(newest, mark);
  }

  /** What to leave out of a block for an endpoint; undefined = nothing. */
  settledFor(endpointNo: EndpointNo, sequence: number): IsSettled | undefined {
    if (this.#former.length === 0 || sequence > this.#formerTo) return undefined;
    if (!this.#settled.has(endpointNo)) {
      const each = this.#former.flatMap((epoch) => epoch.isSettledFor(endpointNo) ?? []);
      const isSettled: IsSettled = (scan) => each.some((isSettledThere) => isSettledThere(scan));
      this.#settled.set(endpointNo, each.length === 0 ? undefined : isSettled);
    }
    return this.#settled.get(endpointNo);
  }

  /** Inside a transaction. */
  write({ position, backlogs, floor }: NumberingChange): void {
    const { tables, core } = this.#options;
    const written = [...this.#unwritten];
    for (const [block, mark] of written) tables.marks.put([this.#epoch, block], mark);
    tables.places.put([this.#epoch, everybody], this.#places({ to: position, open: [] }));
    for (const [no, backlog] of backlogs) {
      if (backlog === undefined) tables.places.remove([this.#epoch, no]);
      else tables.places.put([this.#epoch, no], this.#places(backlog));
    }
    const isPast = this.#isPast(floor);
    const joined = [...this.#marks].filter(([block]) => block <= floor);
    const base = this.#base.copy();
    const isJoining = this.#isNew || isPast || joined.length >= joinedMin;
    if (isJoining) {
      for (const [, mark] of joined) base.raise(mark);
      if (isPast) for (const { newest } of this.#former) base.raise({ all: newest.pack() });
      for (const [block] of joined) tables.marks.remove([this.#epoch, block]);
      if (isPast) for (const { epoch } of this.#former) removeEpoch(tables, epoch);
      tables.numbering.put(this.#epoch, { core, base: base.pack() } satisfies NumberingRecord);
    }
    this.#onCommitted = () => {
      this.#isNew = false;
      this.#position = position;
      for (const [block] of written) this.#unwritten.delete(block);
      if (!isJoining) return;
      this.#base = base;
      for (const [block] of joined) this.#marks.delete(block);
      if (isPast) this.#former = [];
    };
  }

  /** Stores now and then where this machine would begin, should it lead again. @param floor of what is stored */
  keep(floor: number, nowMs: number): void {
    if (this.#isNew || nowMs - this.#keptMs < keepMs) return;
    this.#keptMs = nowMs;
    const blocks = { delivered: floor, routed: Math.max(floor, this.#position[0]) };
    // A full disk: being behind does no harm.
    this.#options.cursor.store(blocks).catch(() => undefined);
  }

  committed(): void {
    this.#onCommitted();
    this.#onCommitted = () => undefined;
  }

  /** Whether everything that former epochs tell of is settled here for everybody. */
  #isPast(floor: number): boolean {
    if (this.#former.length === 0) return false;
    const { scans } = this.#options;
    if (this.#formerTo === Infinity) {
      scans.environment.refresh();
      const counted = ScanMarks.counted(scans);
      if (!this.#former.every(({ newest }) => counted.hasReached(newest))) return false;
      this.#formerTo = newestSequence(scans);
    }
    return floor >= this.#formerTo;
  }

  #places({ to, open }: Pick<Backlog, 'to' | 'open'>): ScanPlaces {
    const [sequence, entries] = to;
    const next = entries === 0 ? undefined : this.#block(sequence + 1);
    const part = next && partOf(next, entries);
    const spans: ScanSpan[] = [...(part?.rest ?? [])];
    for (const [sequence, first, end] of open) {
      const block = this.#block(sequence);
      const found = block && spansOf(block, first, end);
      // It is damaged here: a machine where it is not sends it again, with all that came after it.
      if (found === undefined) return [[sequence - 1, 0], 0, []];
      spans.push(...found);
    }
    return [to, part?.last ?? 0, spans];
  }

  #block(sequence: number): ScanBlock | undefined {
    const range = { start: sequence, limit: 1 };
    for (const [found, block] of storedBlocks(this.#options.scans, range)) {
      return found === sequence ? block : undefined;
    }
    return undefined;
  }
}

function removeEpoch({ numbering, marks, places }: ScanNumberingTables, epoch: number): void {
  // Removing from what is being walked would pass over some.
  const ownMarks = Array.from(marks.keys(keysOf(epoch)));
  const ownPlaces = Array.from(places.keys(keysOf(epoch)));
  for (const key of ownMarks) marks.remove(key);
  for (const key of ownPlaces) places.remove(key);
  numbering.remove(epoch);
}

function eachScan(block: ScanBlock, visit: (scan: ScanOrder) => void): void {
  for (let group = 0; group < block.groups; group++) {
    const first = block.first(group);
    for (let entry = first; entry < first + block.count(group); entry++) {
      visit([block.codeNo(group), block.journal(entry), block.position(entry)]);
    }
  }
}
