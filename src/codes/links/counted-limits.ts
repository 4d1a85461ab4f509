/** Scan limits that the link table counts down, and where each begins. */
import { keepScansLeft } from '../../links/layout.ts';
import { readOr } from '../../model/failure.ts';
import type { CodeNo } from '../../model/numbers.ts';

const noLimit = -1;

export interface ScansLeft {
  /** What the link is put into the table with. */
  readonly scansLeft: number;
  /** To be added when it is there: what it is below zero, or the difference to the limit before. */
  readonly more: number;
}

export class CountedLimits {
  readonly #scansOf: (codeNo: CodeNo) => number;
  /** The limit the table counts down from, by code; as many entries as there are limited codes. */
  readonly #limits = new Map<CodeNo, number>();
  /** Scans that limited codes have had in the process before this one; until their links are in the table. */
  #given = new Map<CodeNo, number>();
  /** Codes with nothing left, because their scans on all nodes have reached the limit. */
  readonly #closed = new Set<CodeNo>();
  /** Another process counts limits down, so the table gives no scan. */
  areTaken = false;

  constructor(scansOf: (codeNo: CodeNo) => number) {
    this.#scansOf = scansOf;
  }

  get codeNos(): Iterable<CodeNo> {
    return this.#limits.keys();
  }

  [Symbol.iterator](): Iterator<[codeNo: CodeNo, limit: number]> {
    return this.#limits.entries();
  }

  /** Scans of codes are known, also where they are not counted yet. @returns those that are in the table without it */
  give(given: Iterable<readonly [CodeNo, number]>): CodeNo[] {
    this.#given = new Map(given);
    return [...this.#given.keys()].filter((codeNo) => this.#limits.delete(codeNo));
  }

  /** The link is in the table with this limit. */
  set(codeNo: CodeNo, limit: number | undefined): void {
    this.#closed.delete(codeNo);
    this.#given.delete(codeNo);
    if (limit === undefined) this.#limits.delete(codeNo);
    else this.#limits.set(codeNo, limit);
  }

  delete(codeNo: CodeNo): void {
    this.#limits.delete(codeNo);
    this.#closed.delete(codeNo);
  }

  clear(): void {
    this.#limits.clear();
    this.#closed.clear();
  }

  /** Its link has nothing left; the next change of it begins at what is counted. */
  close(codeNo: CodeNo): void {
    this.#closed.add(codeNo);
  }

  /** Whether all that is counted has reached the limit, and the code was not closed before. */
  isToClose(codeNo: CodeNo): boolean {
    const limit = this.#limits.get(codeNo);
    if (limit === undefined || this.areTaken || this.#closed.has(codeNo)) return false;
    return (this.#scansIfKnown(codeNo) ?? 0) >= limit;
  }

  /**
   * A limit that is counted down already changes by the difference, exactly, whatever is scanned
   * meanwhile; a new one begins at what is counted, which runs behind by a window (about 120 ms), or at
   * what another process has taken. A code
   * that is over its limit stands below zero, so that a raised limit gives no more than it should.
   */
  scansLeft(codeNo: CodeNo, scanLimit: number | undefined): ScansLeft | 'unknown' {
    if (scanLimit === undefined) return { scansLeft: noLimit, more: 0 };
    if (this.areTaken) return { scansLeft: 0, more: 0 };
    const before = this.#closed.has(codeNo) ? undefined : this.#limits.get(codeNo);
    if (before !== undefined) return { scansLeft: keepScansLeft, more: scanLimit - before };
    const scans = this.#given.get(codeNo) ?? this.#scansIfKnown(codeNo);
    if (scans === undefined) return 'unknown';
    const left = scanLimit - scans;
    return { scansLeft: Math.max(0, left), more: Math.min(0, left) };
  }

  /** Undefined when its numbers are damaged. */
  #scansIfKnown(codeNo: CodeNo): number | undefined {
    return readOr(() => this.#scansOf(codeNo), undefined);
  }
}
