/**
 * Periods: calendar months and years in UTC, counted from the moment the first one began. A day that a
 * month lacks is its last: from 31 January to 28 February to 31 March.
 */
import type { BillingInterval } from '../../model/billing.ts';
import { addMonths } from '../../model/day.ts';

const monthsOf: Readonly<Record<BillingInterval, number>> = { month: 1, year: 12 };

export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** The period that holds `timeMs`, or the first one when that lies before it. */
export function periodAt(anchorMs: number, interval: BillingInterval, timeMs: number): Period {
  const months = monthsOf[interval];
  const [from, to] = [new Date(anchorMs), new Date(timeMs)];
  const apart =
    (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth();
  let periods = Math.max(0, Math.floor(apart / months) - 1);
  while (addMonths(anchorMs, (periods + 1) * months) <= timeMs) periods += 1;
  return {
    startMs: addMonths(anchorMs, periods * months),
    endMs: addMonths(anchorMs, (periods + 1) * months),
  };
}
