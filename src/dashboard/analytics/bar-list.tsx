/**
 * A breakdown as a list whose row is its own bar: the name stands on it whole, scans and share at the right. A click on
 * a row filters by it, a click on the row that is filtered by takes the filter away. Ten rows here; all of them in a
 * dialog with a search. While rows load, the space of as many is kept, so that nothing below moves.
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
  /** Undefined while they load. `other` is the sum of those that the service does not name. */
  readonly rows: readonly Row[] | undefined;
  /** What shares are of, where a scan may be in several rows; else the rows' sum. */
  readonly of?: number | undefined;
  readonly emptyText?: string;
  /** Rows whose space is kept: fewer where there can only be a few. */
  readonly expected?: number;
}

const rowsAtFirst = 10;
/** A row and the gap below it, in pixels: the list's style has the same. */
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
