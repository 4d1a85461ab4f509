/** Scan limits that the link table counts down, and where each begins. */
import { keepScansLeft } from '../../../engine/links/layout.ts';
import { readOr } from '../../../model/failure.ts';
import type { CodeNo } from '../../../model/numbers.ts';

const noLimit = -1;

export interface ScansLeft {
  /** What the link is put into the table with. */
  readonly scansLeft: number;
  /** Scans to add once the link is there: those below zero, or the difference to the previous limit. */
  readonly more: number;
}

export class CountedLimits {
  readonly #scansOf: (codeNo: CodeNo) => number;
  /** The limit the table counts down from, by code; as many entries as there are limited codes. */
  readonly #limits = new Map<CodeNo, number>();
  /** Codes with nothing left, because their scans on all nodes have reached the limit. */
  readonly #closed = new Set<CodeNo>();

  constructor(scansOf: (codeNo: CodeNo) => number) {
    this.#scansOf = scansOf;
  }

  get codeNos(): Iterable<CodeNo> {
    return this.#limits.keys();
  }

  /** The link is in the table with this limit. */
  set(codeNo: CodeNo, limit: number | undefined): void {
    this.#closed.delete(codeNo);
    if (limit === undefined) this.#limits.delete(codeNo);
    else this.#limits.set(codeNo, limit);
  }

  delete(codeNo: CodeNo): void {
    this.#limits.delete(codeNo);
    this.#closed.delete(codeNo);
  }

  /** The link has no scans left; the next change of its limit begins at the counted scans. */
  close(codeNo: CodeNo): void {
    this.#closed.add(codeNo);
  }

  /** Whether the counted scans have reached the limit of a code that is not closed yet. */
  isToClose(codeNo: CodeNo): boolean {
    const limit = this.#limits.get(codeNo);
    if (limit === undefined || this.#closed.has(codeNo)) return false;
    return (this.#scansIfKnown(codeNo) ?? 0) >= limit;
  }

  /**
   * A limit that is counted down already changes by the difference, exactly, whatever is scanned
   * meanwhile; a new one begins at what is counted, which runs behind by a window (about 120 ms). A code
   * over its limit is below zero, so that a raised limit gives no more than it should.
   */
  scansLeft(codeNo: CodeNo, scanLimit: number | undefined): ScansLeft | 'unknown' {
    if (scanLimit === undefined) return { scansLeft: noLimit, more: 0 };
    const before = this.#closed.has(codeNo) ? undefined : this.#limits.get(codeNo);
    if (before !== undefined) return { scansLeft: keepScansLeft, more: scanLimit - before };
    const scans = this.#scansIfKnown(codeNo);
    if (scans === undefined) return 'unknown';
    const left = scanLimit - scans;
    return { scansLeft: Math.max(0, left), more: Math.min(0, left) };
  }

  /** Undefined when its numbers are damaged. */
  #scansIfKnown(codeNo: CodeNo): number | undefined {
    return readOr(() => this.#scansOf(codeNo), undefined);
  }
}
