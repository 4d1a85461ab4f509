/** Big numbers in a row. */
import type { ComponentChildren } from 'preact';
import { formatNumber, formatPercent } from '../client/format.ts';

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

interface ConversionProps {
  readonly count: number;
  /** The sum, in the currency of the program that reports them. */
  readonly value: number;
  readonly rate: number;
}

export function ConversionFigures({ count, value, rate }: ConversionProps) {
  return (
    <>
      <Figure
        label="Conversions"
        value={formatNumber(count)}
        note={value === 0 ? 'Reported through the API' : `Total value ${formatNumber(value)}`}
      />
      <Figure label="Conversion rate" value={formatPercent(rate)} note="Conversions per scan" />
    </>
  );
}

interface TrendProps {
  /** A fraction; null when there is nothing to compare with; `partial` when counting began within that period. */
  readonly change: number | null | 'partial';
  readonly than: string;
}

export function Trend({ change, than }: TrendProps) {
  if (change === null) return <span>No scans in {than}</span>;
  if (change === 'partial') return <span>Too early to compare with {than}</span>;
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
