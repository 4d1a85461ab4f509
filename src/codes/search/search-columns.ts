/**
 * The texts of the workspaces that are searched (search-column.ts), and how they stay what the store holds.
 *
 *   find -> what was edited since the last find, by any core (code-edits.ts), is read again
 *        -> does the column have as many codes as the workspace?      yes: it is the store of this moment
 *        -> no: the index is read on from the newest code it has; from the oldest when the clock has
 *           stepped back since; at the first search that is all of it, 5 to 8 us a code, in slices
 *
 * Each edit and deletion is numbered, so every code of a column is as the store has it; when the counts are
 * equal too, no new code is missing. Both are read without a pause, from one snapshot. A workspace that is
 * never searched costs nothing.
 *
 * A table of trigrams in the store would need no memory and no first search, but a code has 70 of them: 3.2 KB of
 * the file and 115 us a create (measured), which is about as much as creating it. And what it finds is still
 * to be read, at 4 us a code: a text that 100,000 codes have takes 0.4 s to count, here 20 to 30 ms.
 *
 * Memory is bounded for all columns together: the least recently searched go first, and a workspace that is
 * too large alone has none: its searches walk the index, at 4 to 7 us a code each time.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { packedField as field } from '../../store/management/code-codec.ts';
import { endOf, type ListPosition, positionOf, termKey } from '../../store/management/code-keys.ts';
import type { Management } from '../../store/management/management.ts';
import { findEdit } from './code-edits.ts';
import { SearchColumn, type SearchEntry } from './search-column.ts';
import { searchText } from './search-text.ts';
import { allCodes, termCount } from './terms.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Codes or edits that are read without a pause: 1 to 3 ms. */
const sliceMax = 200;
/** Readings of the index in one find: the newest, all, and all again where the clock stepped meanwhile. */
const passesMax = 4;
/** Workspaces remembered as too large. */
const tooLargeMax = 1_000;
const oldest: ListPosition = { createdAtMs: 0, no: 0 };
const newest: ListPosition = endOf(Number.MAX_SAFE_INTEGER);

interface Kept {
  column: SearchColumn;
  /** The last edit that is in it. */
  seen: number;
}

export class SearchColumns {
  readonly #store: Management;
  readonly #bytesMax: number;
  /** By workspace, the least recently searched first. No LRUCache: a column grows after it is put in. */
  readonly #kept = new Map<number, Kept>();
  /** By workspace, the codes with which it did not fit. */
  readonly #tooLarge = new LRUCache<number, number>({ max: tooLargeMax });

  /** @param bytesMax of all columns together; 0 = none */
  constructor(store: Management, bytesMax: number) {
    this.#store = store;
    this.#bytesMax = bytesMax;
  }

  /**
   * The workspace's column as the store is now; later changes come in with the next find. Finds and walks of
   * columns come one after the other. @returns undefined when it may not have one
   */
  async find(workspaceNo: WorkspaceNo): Promise<SearchColumn | undefined> {
    this.#store.environment.refresh();
    const count = termCount(this.#store, workspaceNo, allCodes);
    const isTooLarge = count >= (this.#tooLarge.get(workspaceNo) ?? Infinity);
    if (this.#bytesMax === 0 || isTooLarge) return undefined;
    const kept = this.#kept.get(workspaceNo) ?? this.#empty();
    this.#kept.delete(workspaceNo);
    this.#kept.set(workspaceNo, kept);
    if (await this.#follow(workspaceNo, kept)) return kept.column;
    this.#kept.delete(workspaceNo);
    return undefined;
  }

  #empty(): Kept {
    return { column: new SearchColumn(), seen: this.#store.last('edit') };
  }

  /** @returns false when the column has grown too large, or codes come in faster than they are read */
  async #follow(workspaceNo: WorkspaceNo, kept: Kept): Promise<boolean> {
    let from = kept.column.last ?? oldest;
    for (let passes = 0; passes < passesMax;) {
      const edits = this.#takeEdits(workspaceNo, kept);
      if (!this.#makeSpace(workspaceNo, kept.column)) return false;
      if (edits === 'all') {
        const { live, unreadable } = kept.column;
        const count = termCount(this.#store, workspaceNo, allCodes);
        if (live + unreadable.size === count) return true;
        const last = this.#takeCodes(workspaceNo, kept.column, from);
        from = last ?? oldest;
        // At the end the counts are compared at once: later there might be another code again.
        if (last === undefined) {
          passes++;
          continue;
        }
      } else if (edits === 'lost') {
        Object.assign(kept, this.#empty());
        from = oldest;
      }
      await yieldToEventLoop();
      this.#store.environment.refresh();
    }
    return false;
  }

  /** A slice of them. @returns `lost` when the ring has gone over one */
  #takeEdits(workspaceNo: WorkspaceNo, kept: Kept): 'all' | 'more' | 'lost' {
    const last = this.#store.last('edit');
    const end = Math.min(last, kept.seen + sliceMax);
    while (kept.seen < end) {
      const edit = findEdit(this.#store, kept.seen + 1);
      if (edit === undefined) return 'lost';
      kept.seen++;
      if (edit.workspaceNo === workspaceNo) kept.column.edit(edit, this.#read(kept.column, edit));
    }
    return kept.seen === last ? 'all' : 'more';
  }

  /** A slice of those that are not in it. @returns the last one read, undefined at the end */
  #takeCodes(
    workspaceNo: WorkspaceNo,
    column: SearchColumn,
    from: ListPosition,
  ): ListPosition | undefined {
    const keys = this.#store.codeTerms.keys({
      start: termKey(workspaceNo, allCodes, from),
      end: termKey(workspaceNo, allCodes, newest),
      limit: sliceMax,
    });
    const positions = Array.from(keys, positionOf);
    const entries: SearchEntry[] = [];
    for (const position of positions) {
      const entry = column.has(position) ? undefined : this.#read(column, position);
      if (entry !== undefined) entries.push(entry);
    }
    column.add(entries);
    return positions.length < sliceMax ? undefined : positions.at(-1);
  }

  /** Undefined for a code that is deleted, or whose record is damaged. */
  #read(column: SearchColumn, { createdAtMs, no }: ListPosition): SearchEntry | undefined {
    const packed = this.#store.codes.get(no, () => 'damaged' as const);
    column.unreadable.delete(no);
    if (packed === 'damaged') {
      column.unreadable.add(no);
      return undefined;
    }
    // On the packed form: making a record of each code took a fifth of the time.
    if (packed === undefined || typeof packed[field.deletedAtMs] === 'number') return undefined;
    const [type, dynamic, tags] = [packed[field.type], packed[field.dynamic], packed[field.tags]];
    const label = column.labelOf({ type, dynamic, tags });
    return { createdAtMs, no, text: searchText(packed), label };
  }

  /** @returns false when it is too large alone; others go before it */
  #makeSpace(workspaceNo: WorkspaceNo, column: SearchColumn): boolean {
    let bytes = 0;
    for (const kept of this.#kept.values()) bytes += kept.column.bytes;
    for (const [other, kept] of this.#kept) {
      if (bytes <= this.#bytesMax) return true;
      if (other === workspaceNo) continue;
      this.#kept.delete(other);
      bytes -= kept.column.bytes;
    }
    if (bytes <= this.#bytesMax) return true;
    this.#tooLarge.set(workspaceNo, column.live);
    return false;
  }
}
