/**
 * The change of a number in words: `+12 % against 15–21 Nov 2026, both until 01:45`. The sign repeats the color. A
 * change from 0 has no percentage.
 */
import { formatChange } from '../client/format.ts';
import type { Change, Compared, Totals } from './state/answers.ts';
import { bothUntil, comparedLabel } from './state/labels.ts';

interface ChangeProps {
  /** A fraction; null = the earlier number is 0; `partial` = counting began within that period. */
  readonly change: number | null | 'partial';
  readonly than: Compared;
}

export function ChangeText({ change, than }: ChangeProps) {
  const days = comparedLabel(than);
  if (change === null) return <span>No scans in {days}</span>;
  if (change === 'partial') return <span>Too early to compare with {days}</span>;
  if (change === 0) return <span>The same as in {days}</span>;
  return (
    <span>
      <span class={change > 0 ? 'trend-up' : 'trend-down'}>{formatChange(change)}</span> against{' '}
      {bothUntil(than)}
    </span>
  );
}

interface TotalChangeProps {
  readonly of: Pick<Totals, 'previous' | 'change'>;
  readonly field: keyof Change;
}

/** The change of one total; empty without a comparison. */
export function TotalChange({ of: { previous, change }, field }: TotalChangeProps) {
  if (previous === undefined || change === undefined) return null;
  const value = change[field];
  const isPart = previous.complete === false && value !== null;
  return <ChangeText change={isPart ? 'partial' : value} than={previous} />;
}
