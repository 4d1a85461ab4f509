/**
 * The searchable text of a workspace's codes in memory, one entry a code in the order of the list, oldest
 * first:
 *
 *   text    all that is searched of it (search-text.ts)
 *   label   NUL "all:" NUL NUL "form:url" NUL NUL "tag:shop" NUL …     its terms, as JSON, so without NUL
 *
 * Strings and `includes` were measured against one Buffer with `indexOf`, 5 to 15 times as slow
 * where most codes match, and against strings of 256 codes, about as fast: 2 to 18 ms for 100,000 codes on
 * a busy machine. So a change is an assignment, and there is nothing to compact: a deletion leaves an
 * entry without text, in which nothing is found, and what is empty goes when a quarter is.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { QrCodeRecord } from '../../model/code.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { ListPosition, Term } from '../../store/management/code-keys.ts';
import { hasWord } from './search-text.ts';
import { termName, termsOf } from './terms.ts';

/** What one slice of a walk reads, codes and characters: 1 to 3 ms. */
const sliceCodes = 10_000;
const sliceCharacters = 1_000_000;
/** Entries without text that are worth no tidying. */
const emptyMin = 1_000;
/** Of an entry beyond its characters: its fields, its place, the heads of two strings. */
const entryBytes = 112;
/** Labels that are remembered to be shared; most codes have one of few. */
const labelsMax = 256;

export interface SearchEntry extends ListPosition {
  readonly text: string;
  readonly label: string;
}

export interface ColumnSearch {
  /** Folded; a code is found when it has all. */
  readonly words: readonly string[];
  /** Forms and tags. */
  readonly terms: readonly Term[];
  /** The first position that may be found, and the last one: newest first. */
  readonly newest: ListPosition;
  readonly oldest: ListPosition;
}

export class SearchColumn {
  #entries: SearchEntry[] = [];
  readonly #labels = new LRUCache<string, string>({ max: labelsMax });
  #live = 0;
  /** Codes whose texts are not in it, because their records are damaged. */
  readonly unreadable = new Set<CodeNo>();
  #bytes = 0;

  /** Codes in it. */
  get live(): number {
    return this.#live;
  }

  /** Memory, rather more than less. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The newest position that was ever in it. */
  get last(): ListPosition | undefined {
    return this.#entries.at(-1);
  }

  has(position: ListPosition): boolean {
    return this.#find(position) !== undefined;
  }

  /** Takes codes that are not in it, oldest first; as a rule all are newer than what is. */
  add(fresh: readonly SearchEntry[]): void {
    const [first] = fresh;
    if (first === undefined) return;
    const newer = this.#entries.splice(this.#placeOf(first));
    const ordered = newer.length === 0 ? fresh : [...newer, ...fresh].sort(order);
    for (const entry of ordered) this.#entries.push(entry);
    for (const entry of fresh) this.#bytes += bytesOf(entry);
    this.#live += fresh.length;
  }

  /** What a code has become, undefined when it is deleted; one that is not in it stays out. */
  edit(position: ListPosition, entry: SearchEntry | undefined): void {
    const before = this.#find(position);
    if (before === undefined) return;
    const { createdAtMs, no } = before;
    this.#entries[this.#placeOf(before)] = entry ?? { createdAtMs, no, text: '', label: '' };
    this.#bytes += (entry === undefined ? 0 : bytesOf(entry)) - bytesOf(before);
    if (entry !== undefined) return;
    this.#live--;
    const empty = this.#entries.length - this.#live;
    if (empty <= emptyMin || empty <= this.#entries.length / 4) return;
    this.#entries = this.#entries.filter(({ text }) => text !== '');
  }

  /** The label of a code; many share one. */
  labelOf(code: Pick<QrCodeRecord, 'type' | 'dynamic' | 'tags'>): string {
    const name = JSON.stringify([code.type, code.dynamic, code.tags]);
    const known = this.#labels.get(name);
    if (known !== undefined) return known;
    const label = termsOf(code).map(markOf).join('');
    this.#labels.set(name, label);
    return label;
  }

  /** Visits what is found, newest first, in slices; nothing may be added or edited meanwhile. */
  async walk(
    { words, terms, newest, oldest }: ColumnSearch,
    visit: (position: ListPosition) => 'go on' | 'stop',
  ): Promise<void> {
    const marks = terms.map(markOf);
    const end = this.#placeOf(oldest);
    let at = this.#placeOf({ ...newest, no: newest.no + 1 }) - 1;
    while (at >= end) {
      let characters = 0;
      const sliceEnd = Math.max(end, at - sliceCodes + 1);
      for (; at >= sliceEnd && characters < sliceCharacters; at--) {
        const entry = this.#entries[at];
        if (entry === undefined) break;
        characters += entry.text.length;
        if (!words.every((word) => hasWord(entry.text, word))) continue;
        if (!marks.every((mark) => entry.label.includes(mark))) continue;
        if (visit(entry) === 'stop') return;
      }
      if (at >= end) await yieldToEventLoop();
    }
  }

  #find(position: ListPosition): SearchEntry | undefined {
    const entry = this.#entries[this.#placeOf(position)];
    return entry !== undefined && order(entry, position) === 0 && entry.text !== ''
      ? entry
      : undefined;
  }

  /** The first place that is not before `position`. */
  #placeOf(position: ListPosition): number {
    const { last } = this;
    // As a rule it is newer than all, or the newest.
    if (last === undefined || order(last, position) < 0) return this.#entries.length;
    let [low, high] = [0, this.#entries.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle];
      if (entry !== undefined && order(entry, position) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** What an entry's label has for each of its terms. */
function markOf(term: Term): string {
  return `\0${JSON.stringify(termName(term))}\0`;
}

function order(one: ListPosition, other: ListPosition): number {
  return one.createdAtMs - other.createdAtMs || one.no - other.no;
}

function bytesOf({ text, label }: SearchEntry): number {
  return entryBytes + charactersBytes(text) + charactersBytes(label);
}

/** V8 takes two bytes for each character of a text that has one beyond Latin-1. */
function charactersBytes(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}
