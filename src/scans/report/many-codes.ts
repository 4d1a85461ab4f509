/**
 * Numbers over many codes: sums and unions for campaigns and workspaces.
 *
 * A list of 100,000 codes is walked in slices, between which the event loop turns, so that no request,
 * window or redirect waits for it; each code is read whole within one slice, in one snapshot, so that
 * every breakdown still sums to the total. Walks come one after the other, and few may wait.
 */
import { Failure } from '../../model/failure.ts';
import { Sketch } from '../../model/sketch.ts';
import {
  type Analytics,
  analyticsFrom,
  type BreakdownBy,
  type BreakdownRow,
  type Interval,
  rowsOf,
  Series,
  type SeriesPoint,
} from './breakdown.ts';
import type { Ranges } from './range.ts';
import { Rollup } from '../rollup.ts';

/** Look-ups of one slice: an idle code is one, 0.7 µs each. About 2 ms in all. */
const sliceMax = 2_000;
/** What a stored record costs in look-ups: it is parsed and united, 10 to 60 µs. */
const recordLookUps = 32;
/** Walks that wait for their turn; one more is answered 503. */
const waitingMax = 64;
/** Cities and referer hosts of a union; the rest is `other`. Visitors choose the names. */
const namesMax = 10_000;

export interface CodeScans {
  readonly codeNo: number;
  readonly scans: number;
}

export class ManyCodes {
  readonly #ranges: Ranges;
  #turn: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(ranges: Ranges) {
    this.#ranges = ranges;
  }

  /** @throws Failure overloaded, as all methods here */
  async analytics(codeNos: Iterable<number>, fromDay: number, toDay: number): Promise<Analytics> {
    const rollup = new Rollup(0);
    const sketch = Sketch.empty();
    await this.#walk(codeNos, (codeNo) => this.#ranges.add(codeNo, fromDay, toDay, rollup, sketch));
    return analyticsFrom(rollup, sketch);
  }

  async breakdown(
    codeNos: Iterable<number>,
    fromDay: number,
    toDay: number,
    by: BreakdownBy,
  ): Promise<BreakdownRow[]> {
    const rollup = new Rollup(namesMax);
    await this.#walk(codeNos, (codeNo) =>
      this.#ranges.add(codeNo, fromDay, toDay, rollup, undefined),
    );
    return rowsOf(rollup, by);
  }

  async timeseries(
    codeNos: Iterable<number>,
    fromDay: number,
    toDay: number,
    interval: Interval,
  ): Promise<SeriesPoint[]> {
    const series = new Series(fromDay, toDay, interval);
    const add = (day: number, rollup: Rollup): void => series.add(day, rollup);
    await this.#walk(codeNos, (codeNo) => this.#ranges.eachDay(codeNo, fromDay, toDay, add));
    return series.points();
  }

  /** Scans of each code that has some, in the order of the list. */
  async totals(codeNos: Iterable<number>, fromDay: number, toDay: number): Promise<CodeScans[]> {
    const totals: CodeScans[] = [];
    await this.#walk(codeNos, (codeNo) => {
      const [scans, records] = this.#ranges.scans(codeNo, fromDay, toDay);
      if (scans > 0) totals.push({ codeNo, scans });
      return records;
    });
    return totals;
  }

  /** @param visit reads one code; returns the records it read */
  async #walk(codeNos: Iterable<number>, visit: (codeNo: number) => number): Promise<void> {
    if (this.#waiting >= waitingMax) {
      const detail = 'Too many reports over many codes at a time';
      throw new Failure('overloaded', detail, { retryAfterSeconds: 1 });
    }
    this.#waiting++;
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    try {
      await before;
      await this.#walkInSlices(codeNos, visit);
    } finally {
      this.#waiting--;
      resolve();
    }
  }

  async #walkInSlices(codeNos: Iterable<number>, visit: (codeNo: number) => number): Promise<void> {
    let lookUps = 0;
    this.#ranges.refresh();
    for (const codeNo of codeNos) {
      lookUps += 1 + visit(codeNo) * recordLookUps;
      if (lookUps < sliceMax) continue;
      await new Promise<void>((resume) => setImmediate(resume));
      lookUps = 0;
      this.#ranges.refresh();
    }
  }
}
