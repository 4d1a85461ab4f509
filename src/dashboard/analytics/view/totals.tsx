/** Scans and scanners in big numbers, each with its change against the days compared with. */
import type { ComponentChildren } from 'preact';
import { formatNumber } from '../../client/format.ts';
import { Figure, Figures } from '../../parts/figures.tsx';
import { changeOf, type Totals } from '../state/answers.ts';
import type { ViewState } from '../state/view-state.ts';
import { comparedLabel } from '../state/labels.ts';
import { ChangeText } from '../change-text.tsx';

interface TotalsProps {
  readonly data: Totals;
  readonly state: ViewState;
  /** Further figures. */
  readonly children?: ComponentChildren;
}

export function TotalFigures({ data, state, children }: TotalsProps) {
  const { totalScans, uniqueScanners, newScanners, returningScanners, previous } = data;
  const than = comparedLabel(state);
  const isPart = previous?.complete === false;
  const note = (now: Count, before: Count): ComponentChildren => {
    const change = changeOf(now, before);
    if (than === '' || change === undefined) return undefined;
    return <ChangeText change={isPart && change !== null ? 'partial' : change} than={than} />;
  };
  return (
    <Figures>
      <Figure
        label="Scans"
        value={formatNumber(totalScans)}
        note={note(totalScans, previous?.totalScans)}
      />
      <Figure
        label="Unique scanners"
        value={numberText(uniqueScanners)}
        note={
          uniqueScanners === null
            ? 'Not known with this filter'
            : note(uniqueScanners, previous?.uniqueScanners)
        }
      />
      {newScanners !== undefined && (
        <Figure
          label="New scanners"
          value={numberText(newScanners)}
          note={newScanners === null ? tooFew : `Not seen in the 90 days before${errorText(data)}`}
        />
      )}
      {returningScanners !== undefined && (
        <Figure
          label="Returning scanners"
          value={numberText(returningScanners)}
          note={
            returningScanners === null ? tooFew : `Seen in the 90 days before${errorText(data)}`
          }
        />
      )}
      {children}
    </Figures>
  );
}

type Count = number | null | undefined;

const tooFew = 'Too few to tell for certain';

const numberText = (value: Count): string =>
  value === null || value === undefined ? '–' : formatNumber(value);

/** Less than one scanner is no error. */
const errorText = ({ error }: Totals): string =>
  typeof error === 'number' && error >= 1 ? ` · ± ${formatNumber(Math.round(error))}` : '';
