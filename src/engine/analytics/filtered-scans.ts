/**
 * Numbers of the scans that match a filter: of one word by day from rollups, as far back as they go (`wordOf`); all else from
 * raw scans, while these are kept, in one pass for all that a page asks (raw/answer-cache.ts).
 */
import { isoTime, quarterMs } from '../../model/day.ts';
import { dataDamaged, Failure } from '../../model/failure.ts';
import { browserNames, countryNumber, deviceNames, osNames } from '../../model/scan.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { Timed } from '../counting/days/stored-piece.ts';
import { Dimension } from '../counting/rollup.ts';
import type { Subject } from './subject.ts';
import type { ScanFilter } from './filter.ts';
import { hasAll, type AnswerCache } from './raw/answer-cache.ts';
import type { RawAnswer, RawQuery } from './raw/raw-query.ts';
import type { Ranges } from './range.ts';
import { spansOf } from './spans.ts';

export interface RollupWord {
  readonly dimension: Dimension;
  readonly value: number;
}

/** Undefined for more than one value, and for names: a day has a hundred, and the rest as one. */
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

export class FilteredScans {
  readonly #raw: AnswerCache;
  readonly #ranges: Pick<Ranges, 'oldestRawMs' | 'expiredBeforeMs'>;
  readonly #scansOf: (subject: Subject, range: LocalRange) => Promise<number>;

  /** @param scansOf scans of a subject in a range, without the filter */
  constructor(
    raw: AnswerCache,
    ranges: Pick<Ranges, 'oldestRawMs' | 'expiredBeforeMs'>,
    scansOf: (subject: Subject, range: LocalRange) => Promise<number>,
  ) {
    this.#raw = raw;
    this.#ranges = ranges;
    this.#scansOf = scansOf;
  }

  /**
   * @param counted `all` = also bots and visits without a redirect. No record has their number, so all blocks are read, and no
   * part of the range may have expired
   * @throws Failure validation_failed when raw scans of the range have expired; overloaded, data_damaged
   */
  async of(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter,
    counted: 'scans' | 'all' = 'scans',
  ): Promise<RawAnswer> {
    const readsAll = counted === 'all';
    const query = { ...queryOf(subject, range, filter), readsAll };
    const known = this.#raw.find(query);
    // Read before the pass, which then sees at least these.
    const expecting = known?.query ?? { ...query, expected: await this.#scansOf(subject, range) };
    const answer = await (known?.answer ?? this.#raw.run(expecting));
    if (!hasAll(answer, expecting)) {
      throw answer.damagedBlocks > 0 ? blocksDamaged(answer.damagedBlocks) : this.#expired();
    }
    if (readsAll && query.fromMs < this.#ranges.expiredBeforeMs()) throw this.#expired();
    return answer;
  }

  #expired(): Failure {
    const oldestMs = this.#ranges.oldestRawMs();
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
export function* quarterPieces({ quarters }: RawAnswer, range: LocalRange): Generator<Timed> {
  const first = spansOf(range).fromMs;
  for (const [quarter, scans] of quarters.entries()) {
    if (scans === 0) continue;
    const fromMs = first + quarter * quarterMs;
    const endMs = fromMs + quarterMs;
    yield { fromMs, endMs, scans, eachQuarter: (visit) => visit(fromMs, scans) };
  }
}

function queryOf(subject: Subject, range: LocalRange, filter: ScanFilter): RawQuery {
  const numbers =
    'code' in subject ? [subject.code] : 'codes' in subject ? subject.codes : undefined;
  const { fromMs, endMs } = spansOf(range);
  return {
    workspaceNo: subject.workspace,
    codes: numbers && Uint32Array.from(numbers).sort(),
    fromMs,
    endMs,
    filter,
    of: 'code' in subject ? 'codes' : 'workspaces',
  };
}
