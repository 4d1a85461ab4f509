/**
 * Numbers of the scans that match a filter.
 *
 *   one word of one kind, by day    from rollups, as far back as there are any (`wordOf`)
 *   everything else                 from raw scans, as long as these are kept: one pass answers totals, series and all
 *                                   breakdowns of a question (raw/kept-answers.ts)
 */
import { isoTime, quarterMs } from '../../model/day.ts';
import { dataDamaged, Failure } from '../../model/failure.ts';
import { browserNames, countryNumber, deviceNames, osNames } from '../../model/scan.ts';
import type { LocalRange, Stretch } from '../../model/zones/local-range.ts';
import type { Timed } from '../days/stored-piece.ts';
import { Dimension } from '../rollup.ts';
import type { Subject } from './subject.ts';
import type { ScanFilter } from './filter.ts';
import { hasAll, type KeptAnswers } from './raw/kept-answers.ts';
import type { RawAnswer, RawQuery } from './raw/raw-query.ts';
import { spansOf } from './spans.ts';

/** Cities and referer hosts; the rest is `other`. */
const namesMax = 10_000;

/** A word that rollups have counts of: its dimension and number. */
export interface RollupWord {
  readonly dimension: Dimension;
  readonly value: number;
}

/** Undefined where a filter asks for more than one thing, or for a name: of names a day has a hundred, and the rest as one. */
export function wordOf(filter: ScanFilter): RollupWord | undefined {
  const [only, ...others] = Object.entries(filter).filter(([, value]) => value !== undefined);
  if (only === undefined || others.length > 0) return undefined;
  const { country, device, os, browser } = filter;
  const of = (dimension: Dimension, value: number): RollupWord => ({ dimension, value });
  if (country !== undefined) return of(Dimension.country, countryNumber(country));
  if (device !== undefined) return of(Dimension.device, numberIn(deviceNames, device));
  if (os !== undefined) return of(Dimension.os, numberIn(osNames, os));
  if (browser !== undefined) return of(Dimension.browser, numberIn(browserNames, browser));
  return undefined;
}

const numberIn = (names: readonly string[], name: string): number => names.indexOf(name);

export interface FilteredScansOptions {
  readonly raw: KeptAnswers;
  /** Scans of a subject in a range, whether they match or not. */
  readonly scansOf: (subject: Subject, range: LocalRange) => Promise<number>;
  /** When the oldest raw scans were made that are kept, epoch ms; undefined = there are none. */
  readonly oldestMs: () => number | undefined;
  /** Raw scans of before this time have expired; -Infinity = none has. */
  readonly expiredBeforeMs: () => number;
}

export class FilteredScans {
  readonly #options: FilteredScansOptions;

  constructor(options: FilteredScansOptions) {
    this.#options = options;
  }

  /** @throws Failure validation_failed where raw scans of the range have expired; overloaded, data_damaged */
  async of(subject: Subject, range: LocalRange, filter: ScanFilter): Promise<RawAnswer> {
    const { raw, scansOf } = this.#options;
    const query = queryOf(subject, range, filter);
    const known = raw.find(query);
    if (known !== undefined) return this.#whole(await known.wait(subject.asker), known.query);
    // Before the pass, which then has them all.
    const scans = await scansOf(subject, range);
    const expecting = { ...query, expected: query.spans.map(() => scans) };
    return this.#whole(await raw.run(expecting, subject.asker), expecting);
  }

  /**
   * The same, for bots and people in vain: no record says how many of them the answer must have, so nothing of the range may
   * have expired.
   */
  async ofAll(subject: Subject, range: LocalRange, filter: ScanFilter): Promise<RawAnswer> {
    const answer = await this.of(subject, range, filter);
    if (spansOf(range).fromMs < this.#options.expiredBeforeMs()) throw this.#expired();
    return answer;
  }

  #whole(answer: RawAnswer, query: RawQuery): RawAnswer {
    if (hasAll(answer, query)) return answer;
    throw answer.damagedBlocks > 0 ? blocksDamaged(answer.damagedBlocks) : this.#expired();
  }

  #expired(): Failure {
    const oldestMs = this.#options.oldestMs();
    const since =
      oldestMs === undefined ? 'none are kept' : `the oldest are of ${isoTime(oldestMs)}`;
    const message = `Raw scans of this range have expired, ${since}; expected a later \`from\`, or no filter`;
    return new Failure('validation_failed', 'The range is not kept as raw scans', {
      faults: [{ path: 'from', code: 'raw_scans_expired', message }],
    });
  }
}

const blocksDamaged = (blocks: number): Failure =>
  dataDamaged(`Raw scans of this range cannot be read: ${blocks} of their blocks are damaged`);

/** Scans by quarter of an hour, as pieces of a series. */
export function* quartersOf(answer: RawAnswer, spans: readonly Stretch[]): Generator<Timed> {
  for (const [at, counts] of answer.quarters.entries()) {
    for (const [quarter, scans] of counts.entries()) {
      if (scans === 0) continue;
      const fromMs = spans[at]!.fromMs + quarter * quarterMs;
      const endMs = fromMs + quarterMs;
      yield { fromMs, endMs, scans, eachTime: (visit) => visit(fromMs, endMs, scans) };
    }
  }
}

/** @throws never: a range outside of what is stored has no span */
export function rawSpansOf(range: LocalRange): readonly Stretch[] {
  const { fromMs, endMs } = spansOf(range);
  return fromMs < endMs ? [{ fromMs, endMs }] : [];
}

function queryOf(subject: Subject, range: LocalRange, filter: ScanFilter): RawQuery {
  const numbers =
    'code' in subject ? [subject.code] : 'codes' in subject ? subject.codes : undefined;
  return {
    workspaceNo: subject.workspace,
    codes: numbers && Uint32Array.from(numbers).sort(),
    spans: rawSpansOf(range),
    filter,
    of: 'code' in subject ? 'codes' : 'workspaces',
    namesMax,
  };
}
