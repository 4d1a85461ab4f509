/**
 * A breakdown as a list in which each row is a bar: the full name on it, scans and share at the right. A click on a row
 * filters by it; a second click removes the filter. The list has ten rows; a dialog with a search has all. While rows
 * load, the list keeps their space, so that the page does not move.
 */
import { useState } from 'preact/hooks';
import { formatNumber } from '../client/format.ts';
import { Button } from '../parts/button.tsx';
import { ExportButton } from '../parts/export-button.tsx';
import { Empty } from '../parts/notice.tsx';
import { AllRows } from './all-rows.tsx';
import { type BarProps, BarRows, OtherRow } from './bar-rows.tsx';
import { type Row, sumOf } from './rows.ts';

interface BarListProps extends BarProps {
  /** Undefined while they load. `other` is the sum of the rows that the service does not name. */
  readonly rows: readonly Row[] | undefined;
  /** The total for the shares, where a scan may be in several rows; absent = the rows' sum. */
  readonly of?: number | undefined;
  readonly emptyText?: string;
  /** Rows to reserve space for: fewer where only a few are possible. */
  readonly expected?: number;
}

const rowsAtFirst = 10;
/** Height of a row with the gap below it, in pixels, as in the list's style. */
const rowHeight = 38;

export function BarList(props: BarListProps) {
  const { name, rows, csv, emptyText = 'No scans in this period', expected = rowsAtFirst } = props;
  const [isWhole, setWhole] = useState(false);
  const space = { minHeight: `${expected * rowHeight}px` };
  if (rows === undefined) {
    return (
      <>
        <div style={space}>
          <LoadingRows count={expected} />
        </div>
        {csv !== undefined && <p class="bar-list-foot" />}
      </>
    );
  }
  const sum = sumOf(rows);
  const total = props.of ?? sum;
  if (sum === 0) {
    return (
      <div style={space}>
        <Empty icon="scan" title={emptyText} />
      </div>
    );
  }
  const ranked = rankedOf(rows);
  const other = rows.find(({ key }) => key === otherKey)?.scans ?? 0;
  const hasMore = ranked.length > rowsAtFirst;
  return (
    <>
      <div style={space}>
        <BarRows {...props} rows={ranked.slice(0, rowsAtFirst)} total={total} />
        {other > 0 && !hasMore && <OtherRow scans={other} total={total} />}
      </div>
      {(hasMore || csv !== undefined) && (
        <p class="bar-list-foot">
          {hasMore && (
            <Button size="small" tone="quiet" onClick={() => setWhole(true)}>
              {`Show all (${formatNumber(ranked.length)})`}
            </Button>
          )}
          {csv !== undefined && <ExportButton {...csv} label="CSV" of={name} />}
        </p>
      )}
      {isWhole && (
        <AllRows
          {...props}
          rows={ranked}
          other={other}
          total={total}
          onClose={() => setWhole(false)}
        />
      )}
    </>
  );
}

const otherKey = 'other';

const rankedOf = (rows: readonly Row[]): readonly Row[] =>
  rows
    .filter(({ key, scans }) => key !== otherKey && scans > 0)
    .toSorted((a, b) => b.scans - a.scans);

function LoadingRows({ count }: { readonly count: number }) {
  return (
    <div class="bar-list" aria-busy="true">
      <span class="unseen">Loading…</span>
      {Array.from({ length: count }, (_, index) => (
        <span key={index} class="bar-list-row skeleton-block" aria-hidden="true" />
      ))}
    </div>
  );
}
