/** Big numbers in a row. */
import type { ComponentChildren } from 'preact';
import { formatPercent } from '../client/format.ts';

export function Figures({ children }: { readonly children: ComponentChildren }) {
  return <div class="figures">{children}</div>;
}

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly note?: ComponentChildren;
}

export function Figure({ label, value, note }: FigureProps) {
  return (
    <div class="figure">
      <span class="figure-label">{label}</span>
      <span class="figure-value">{value}</span>
      <span class="figure-note">{note}</span>
    </div>
  );
}

interface TrendProps {
  /** A fraction; null when there is nothing to compare with. */
  readonly change: number | null | undefined;
  readonly than: string;
}

export function Trend({ change, than }: TrendProps) {
  if (change === null || change === undefined) return <span>No scans in {than}</span>;
  if (change === 0) return <span>Same as {than}</span>;
  const isUp = change > 0;
  return (
    <span>
      <span class={isUp ? 'trend-up' : 'trend-down'}>
        {isUp ? '▲' : '▼'} {formatPercent(Math.abs(change))}
      </span>{' '}
      vs. {than}
    </span>
  );
}
