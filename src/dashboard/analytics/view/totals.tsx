/** Scans and scanners in big numbers, each with its change against the compared days. */
import type { ComponentChildren } from 'preact';
import { formatNumber } from '../../client/format.ts';
import { Figure, Figures } from '../../parts/figures.tsx';
import { TotalChange } from '../change-text.tsx';
import type { Totals } from '../state/answers.ts';
import type { ViewState } from '../state/view-state.ts';

interface TotalsProps {
  readonly data: Totals;
  readonly state: ViewState;
  /** Further figures. */
  readonly children?: ComponentChildren;
}

const labels = ['Scans', 'Unique scanners', 'New scanners', 'Returning scanners'] as const;

export function TotalFigures({ data, state, children }: TotalsProps) {
  const { totalScans, uniqueScanners, newScanners, returningScanners } = data;
  const [scans, uniques, fresh, returning] = labels;
  return (
    <div class="totals">
      <Figures>
        <Figure
          label={scans}
          value={formatNumber(totalScans)}
          note={<TotalChange of={data} field="totalScans" />}
        />
        <Figure
          label={uniques}
          value={formatNumber(uniqueScanners)}
          note={<TotalChange of={data} field="uniqueScanners" />}
        />
        {newScanners !== undefined && (
          <Figure
            label={fresh}
            value={countText(newScanners)}
            note={seenText('Not seen', newScanners, { data, state })}
          />
        )}
        {returningScanners !== undefined && (
          <Figure
            label={returning}
            value={countText(returningScanners)}
            note={seenText('Seen', returningScanners, { data, state })}
          />
        )}
        {children}
      </Figures>
    </div>
  );
}

/** Shown while they load. */
export function TotalPlaces() {
  return (
    <div class="totals" aria-hidden="true">
      <Figures>
        {labels.map((label) => (
          <Figure key={label} label={label} value="…" />
        ))}
      </Figures>
    </div>
  );
}

type Count = number | null | undefined;

const countText = (value: Count): string => (typeof value === 'number' ? formatNumber(value) : '–');

function seenText(seen: string, value: number | null, { data, state }: TotalsProps): string {
  const { error } = data;
  if (value !== null) {
    const text = `${seen} in the 90 days before`;
    // An error below one scanner is not shown.
    const isRough = typeof error === 'number' && error >= 1;
    return isRough ? `${text}, ±\u00A0${formatNumber(Math.round(error))}` : text;
  }
  if (Object.keys(state.filters).length > 0) return 'Not available with filters';
  return typeof error === 'number'
    ? 'Too few for a reliable number'
    : 'The 90 days before were not counted';
}
