/**
 * How much a number has changed, in words: `+12 % against the 7 days before`. The sign says what the colour says, and
 * a change from nothing is no percentage.
 */
import { formatChange } from '../client/format.ts';

interface ChangeProps {
  /** A fraction; null when there is nothing to compare with; `partial` when counting began within that period. */
  readonly change: number | null | 'partial';
  /** `the 7 days before`. */
  readonly than: string;
}

export function ChangeText({ change, than }: ChangeProps) {
  if (change === null) return <span>No scans in {than}</span>;
  if (change === 'partial') return <span>Too early to compare with {than}</span>;
  if (change === 0) return <span>The same as in {than}</span>;
  return (
    <span>
      <span class={change > 0 ? 'trend-up' : 'trend-down'}>{formatChange(change)}</span> against{' '}
      {than}
    </span>
  );
}
