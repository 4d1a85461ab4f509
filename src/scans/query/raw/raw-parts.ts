/**
 * Collects the parts that the records of many counters leave to raw scans (range.ts): one query counts all counters with the
 * same part. A part with fewer raw scans than its records say has expired and is refused. Records do not count bots and
 * visits without a redirect: for these, the part must begin after everything expired.
 */
import type { CodeNo } from '../../../model/numbers.ts';
import type { TimeRange } from '../../../model/zones/local-range.ts';
import type { RawPart, Wanted } from '../range.ts';
import { unavailable } from '../spans.ts';
import type { RawAnswer, RawQuery } from './raw-query.ts';

interface Part extends TimeRange {
  readonly counters: number[];
  scans: number;
}

export class RawParts {
  readonly #parts = new Map<string, Part>();

  add(counter: CodeNo, parts: readonly RawPart[]): void {
    for (const { fromMs, endMs, scans } of parts) {
      const key = `${fromMs}-${endMs}`;
      const part = this.#parts.get(key) ?? { fromMs, endMs, counters: [], scans: 0 };
      part.counters.push(counter);
      part.scans += scans;
      this.#parts.set(key, part);
    }
  }

  get isEmpty(): boolean {
    return this.#parts.size === 0;
  }

  /**
   * Adds the parts' counts.
   * @param expiredBeforeMs for bots and visits without a redirect
   * @throws Failure validation_failed, overloaded, data_damaged
   */
  async addTo(
    count: (query: RawQuery) => Promise<RawAnswer>,
    of: Pick<RawQuery, 'workspaceNo' | 'of'>,
    { rollup, sketch, of: counted }: Wanted,
    expiredBeforeMs: () => number,
  ): Promise<void> {
    const readsAll = counted === 'all';
    for (const { fromMs, endMs, counters, scans } of this.#parts.values()) {
      const answer = await count({
        ...of,
        readsAll,
        codes: of.of === 'codes' ? Uint32Array.from(counters).sort() : undefined,
        fromMs,
        endMs,
        expected: scans,
        filter: {},
      });
      if (answer.all < scans) throw expired();
      if (readsAll && fromMs < expiredBeforeMs()) throw expired();
      rollup.merge(answer.rollup);
      sketch?.merge(answer.sketch);
    }
  }
}

function expired() {
  return unavailable(
    'The first or last day of the range is not kept by this zone, and its raw scans have expired; ' +
      'ask for timezone=UTC, for timezone=workspace, or for a range that begins later',
  );
}
