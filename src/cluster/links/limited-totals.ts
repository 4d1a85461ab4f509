/** The counted scans of limited codes, for many feeds: read from time to time; a feed gets the changes since its last reading. */
import type { Clock } from '../../model/clock.ts';
import type { CodeNo } from '../../model/numbers.ts';

export type Totals = Iterable<readonly [codeNo: CodeNo, scans: number]>;

/** A feed that has missed more readings gets all totals. */
const readingsMax = 16;

export class LimitedTotals {
  readonly #read: () => Totals;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #everyMs: number;
  #totals: ReadonlyMap<CodeNo, number> = new Map();
  /** What has changed, by reading; the newest is the last. */
  readonly #changes: Array<ReadonlyArray<readonly [CodeNo, number]>> = [];
  #reading = 0;
  #readMs = -Infinity;

  constructor(read: () => Totals, clock: Pick<Clock, 'monotonicMs'>, everyMs: number) {
    this.#read = read;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** @param reading the caller's last one, 0 = none @returns what it lacks, and the newest reading */
  since(reading: number): { readonly reading: number; readonly totals: Totals } {
    if (this.#clock.monotonicMs() - this.#readMs >= this.#everyMs) this.#readAll();
    const missed = this.#reading - reading;
    const totals =
      reading === 0 || missed > this.#changes.length
        ? this.#totals
        : this.#changes.slice(this.#changes.length - missed).flat();
    return { reading: this.#reading, totals };
  }

  #readAll(): void {
    this.#readMs = this.#clock.monotonicMs();
    const totals = new Map(this.#read());
    this.#changes.push([...totals].filter(([no, scans]) => this.#totals.get(no) !== scans));
    if (this.#changes.length > readingsMax) this.#changes.shift();
    this.#totals = totals;
    this.#reading += 1;
  }
}
