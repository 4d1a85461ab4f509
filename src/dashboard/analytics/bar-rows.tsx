/** Rows drawn as bars: buttons that filter, or plain rows if the page has no filter for them. */
import { formatNumber, formatPercent, formatShort } from '../client/format.ts';
import { Icon } from '../parts/icon.tsx';
import type { FilterProps, Row } from './rows.ts';

export interface BarProps extends FilterProps {
  /** `Countries`. */
  readonly name: string;
  readonly labelOf: (key: string) => string;
  /** Path of all rows as CSV, below /v1. */
  readonly csv?: { readonly path: string; readonly fileName: string };
}

interface RowsProps extends Omit<BarProps, 'csv'> {
  readonly rows: readonly Row[];
  readonly total: number;
  /** Value of the longest bar; absent = the first row. */
  readonly most?: number;
}

export function BarRows(props: RowsProps) {
  const { name, rows, labelOf, total, most = rows[0]?.scans ?? 0, selected, onSelect } = props;
  return (
    <ul class="bar-list" aria-label={name}>
      {rows.map(({ key, scans }) => {
        const isSelected = key === selected;
        const content = (
          <>
            <span
              class="bar-list-fill"
              aria-hidden="true"
              style={{ width: `${(scans / most) * 100}%` }}
            />
            <span class="bar-list-name" dir="auto">
              {isSelected && <Icon name="close" size={14} />}
              {labelOf(key)}
            </span>
            <Numbers scans={scans} total={total} />
          </>
        );
        return (
          <li key={key}>
            {onSelect === undefined ? (
              <span class="bar-list-row">{content}</span>
            ) : (
              <button
                type="button"
                class="bar-list-row"
                aria-pressed={isSelected}
                title={isSelected ? 'Remove this filter' : undefined}
                onClick={() => onSelect(isSelected ? undefined : key)}
              >
                {content}
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}

interface NumbersProps {
  readonly scans: number;
  readonly total: number;
}

export function OtherRow({ scans, total }: NumbersProps) {
  return (
    <p class="bar-list-row soft">
      <span class="bar-list-name">Other</span>
      <Numbers scans={scans} total={total} />
    </p>
  );
}

function Numbers({ scans, total }: NumbersProps) {
  return (
    <>
      <span class="bar-list-scans" title={formatNumber(scans)}>
        {formatShort(scans)}
        <span class="unseen"> {scans === 1 ? 'scan' : 'scans'},</span>
      </span>
      <span class="bar-list-share">{formatPercent(scans / total)}</span>
    </>
  );
}
