/**
 * The table at one moment, while it goes on changing: how its image (image-writer.ts) is exact though it is copied piece by
 * piece beside the running service.
 *
 *   begin   state: tail, free lists, blocks in quarantine, and which slots are the newest
 *   while   new entries are written behind the tail; no block is freed; slots do not move
 *   so      below the tail only slots and the shape words of entries change: what each was before is noted here
 *
 * The notes, written back into the copy in reverse order, make it the table of the beginning, whenever a piece was
 * copied. Cells of limits and of zones are not noted: a start fills them anew.
 *
 * It ends by itself, and the image with it, when the arena has no space behind its tail, slots need a new generation,
 * quarantine is half full, or more has changed than may be noted: changes never wait for an image.
 */

/** What an image needs of a table beside slots and arena. */
export interface TableState {
  readonly slotBits: number;
  /** Keys that hold a slot. */
  readonly used: number;
  readonly live: number;
  readonly lostUnits: number;
  readonly tailUnits: number;
  readonly arenaBytes: number;
  readonly freeUnits: number;
  /** Of the free lists, by units. */
  readonly heads: Int32Array;
  /** Block and units, in turns: of blocks that nothing shows any more. */
  readonly waiting: Int32Array;
  /** Cells of time zones (zone-cells.ts). */
  readonly zones: Int32Array;
}

/** Slots and shapes together: as many changes as are kept by number make an image worthless anyway. */
const notesMax = 200_000;

export class Recording {
  readonly state: TableState;
  /** The newest generation's. */
  readonly slots: Int32Array;
  /** Word and entry before, in turns. */
  readonly slotNotes: number[] = [];
  /** Entry and shape before, in turns. */
  readonly shapeNotes: number[] = [];
  #isWhole = true;

  constructor(state: TableState, slots: Int32Array) {
    this.state = state;
    this.slots = slots;
  }

  /** Whether an image can still be made of it. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  end(): void {
    this.#isWhole = false;
  }

  noteSlot(word: number, entry: number): void {
    if (this.#isWhole) this.#note(this.slotNotes, word, entry);
  }

  noteShape(entry: number, shape: number): void {
    if (this.#isWhole && entry < this.state.tailUnits)
      this.#note(this.shapeNotes, entry | 0, shape);
  }

  #note(notes: number[], what: number, before: number): void {
    if (this.slotNotes.length + this.shapeNotes.length >= 2 * notesMax) this.end();
    else notes.push(what, before);
  }
}
