/** Scans and scanners in big numbers, each with its change against the days compared with. */
import type { ComponentChildren } from 'preact';
import { formatNumber } from '../../client/format.ts';
import { Figure, Figures } from '../../parts/figures.tsx';
import { ChangeText } from '../change-text.tsx';
import { changeOf, type Totals } from '../state/answers.ts';
import { comparedLabel } from '../state/labels.ts';
import type { ViewState } from '../state/view-state.ts';

interface TotalsProps {
  readonly data: Totals;
  readonly state: ViewState;
  /** Further figures. */
  readonly children?: ComponentChildren;
}

const labels = ['Scans', 'Unique scanners', 'New scanners', 'Returning scanners'] as const;

export function TotalFigures({ data, state, children }: TotalsProps) {
  const { totalScans, uniqueScanners, newScanners, returningScanners, previous } = data;
  const than = comparedLabel(state);
  const isPart = previous?.complete === false;
  const note = (now: Count, before: Count): ComponentChildren => {
    const change = changeOf(now, before);
    if (than === '' || change === undefined) return undefined;
    return <ChangeText change={isPart && change !== null ? 'partial' : change} than={than} />;
  };
  const [scans, uniques, fresh, returning] = labels;
  return (
    <div class="totals">
      <Figures>
        <Figure
          label={scans}
          value={formatNumber(totalScans)}
          note={note(totalScans, previous?.totalScans)}
        />
        <Figure
          label={uniques}
          value={formatNumber(uniqueScanners)}
          note={note(uniqueScanners, previous?.uniqueScanners)}
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

/** While they load, in their place. */
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
    // Less than one scanner is no error.
    const isRough = typeof error === 'number' && error >= 1;
    return isRough ? `${text}, ±\u00A0${formatNumber(Math.round(error))}` : text;
  }
  if (Object.keys(state.filters).length > 0) return 'Not known with filters';
  return typeof error === 'number'
    ? 'Too few to tell for certain'
    : 'The 90 days before are not known';
}
