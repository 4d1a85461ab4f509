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
  /** The sum, in the currency of the reporting program. */
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
