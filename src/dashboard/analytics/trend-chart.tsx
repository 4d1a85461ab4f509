/**
 * Scans over time: the change in words, the chart with the period before as a dashed line, what the lines are, and the
 * same numbers as a table, which is made when it is opened.
 */
import { useState } from 'preact/hooks';
import { capitalize, formatNumber } from '../client/format.ts';
import { type Interval, labelsOf, type Point } from '../client/point-labels.ts';
import { chartHeight, LazyChart } from '../parts/lazy-chart.tsx';
import { Empty } from '../parts/notice.tsx';
import { Skeleton } from '../parts/page.tsx';
import { Table } from '../parts/table.tsx';
import { ChangeText } from './change-text.tsx';

interface TrendProps {
  /** Undefined while they load. */
  readonly points: readonly Point[] | undefined;
  readonly interval: Interval;
  readonly previous?: Previous | undefined;
}

interface Previous {
  readonly points: readonly Point[];
  /** As `ChangeText` takes it. */
  readonly change: number | null | 'partial';
  /** `the 7 days before`. */
  readonly name: string;
}

/** The line about the change, and the line below the chart. */
const aroundHeight = 68;

export function TrendChart({ points, interval, previous }: TrendProps) {
  if (points === undefined) return <Skeleton height={chartHeight + aroundHeight} />;
  if (points.length === 0) return <Empty icon="scan" title="No scans in this period" />;
  return (
    <div class="trend">
      {previous !== undefined && (
        <p class="trend-change">
          <ChangeText change={previous.change} than={previous.name} />
        </p>
      )}
      <LazyChart
        points={points}
        interval={interval}
        height={chartHeight}
        {...(previous === undefined ? {} : { before: previous.points })}
      />
      <div class="trend-foot">
        {previous !== undefined && (
          <ul class="trend-lines">
            <li>
              <span class="line-sample" aria-hidden="true" />
              This period
            </li>
            <li>
              <span class="line-sample line-dashed" aria-hidden="true" />
              {capitalize(previous.name)}
            </li>
          </ul>
        )}
        <Numbers points={points} interval={interval} previous={previous} />
      </div>
    </div>
  );
}

interface NumbersProps {
  readonly points: readonly Point[];
  readonly interval: Interval;
  readonly previous: Previous | undefined;
}

function Numbers(props: NumbersProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="trend-numbers"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>Show as a table</summary>
      {isOpen && <NumberTable {...props} />}
    </details>
  );
}

function NumberTable({ points, interval, previous }: NumbersProps) {
  const before = previous?.points ?? [];
  const [labels, labelsBefore] = [labelsOf(points, interval), labelsOf(before, interval)];
  const more = previous === undefined ? [] : [capitalize(previous.name), { end: 'Scans before' }];
  return (
    <div class="trend-table" tabIndex={0} role="group" aria-label="Scans over time">
      <Table caption="Scans over time" columns={['Time', { end: 'Scans' }, ...more]}>
        {points.map((point, index) => (
          <tr key={point.start}>
            <th scope="row">{labels[index]}</th>
            <td class="number">{formatNumber(point.scans)}</td>
            {previous !== undefined && (
              <>
                <td>{labelsBefore[index] ?? '–'}</td>
                <td class="number">{formatNumber(before[index]?.scans ?? 0)}</td>
              </>
            )}
          </tr>
        ))}
      </Table>
    </div>
  );
}
