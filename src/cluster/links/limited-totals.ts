/**
 * The counted scans of limited codes, for many edges: read from time to time. A code is listed again when its scans have
 * changed; an edge asks for what is listed since its last question.
 */
import type { Clock } from '../../model/clock.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { LinkPiece } from './link-piece.ts';

export type Totals = Iterable<readonly [codeNo: CodeNo, scans: number]>;

/** The list may have so many codes more than twice once. */
const repeatedMax = 10_000;
const microseconds = 1_000;

export class LimitedTotals {
  readonly #read: () => Totals;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #everyMs: number;
  #totals: ReadonlyMap<CodeNo, number> = new Map();
  /** The newest is the last. */
  #listed: CodeNo[] = [];
  /** Number of the first one. Above all numbers of an earlier list on this machine. */
  #first: number;
  #readMs = -Infinity;

  constructor(read: () => Totals, clock: Pick<Clock, 'monotonicMs'>, everyMs: number) {
    this.#read = read;
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#first = Math.floor(clock.monotonicMs() * microseconds);
  }

  /** @param from the caller's last `totalsNext`; of another list = all @returns some of what it lacks */
  since(from: number, max: number): Pick<LinkPiece, 'totalsNext' | 'totals'> {
    if (this.#clock.monotonicMs() - this.#readMs >= this.#everyMs) this.#readAll();
    const end = this.#first + this.#listed.length;
    const start = from >= this.#first && from <= end ? from - this.#first : 0;
    const codes = new Set(this.#listed.slice(start, start + max));
    return {
      totalsNext: Math.min(this.#first + start + max, end),
      totals: Array.from(codes, (no) => [no, this.#totals.get(no) ?? 0] as const),
    };
  }

  #readAll(): void {
    this.#readMs = this.#clock.monotonicMs();
    const totals = new Map(this.#read());
    for (const [no, scans] of totals) if (this.#totals.get(no) !== scans) this.#listed.push(no);
    this.#totals = totals;
    if (this.#listed.length <= 2 * totals.size + repeatedMax) return;
    this.#first += this.#listed.length;
    this.#listed = [...totals.keys()];
  }
}
