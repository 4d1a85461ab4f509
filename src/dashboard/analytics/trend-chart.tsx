/**
 * Scans over time: the change in words, the chart with the earlier period as a dashed line, a legend, and the same
 * numbers as a table, which is built when opened.
 */
import { useState } from 'preact/hooks';
import { now } from '../client/browser-clock.ts';
import { formatNumber } from '../client/format.ts';
import { type Interval, labelsOf, type Point, runningIn } from '../client/point-labels.ts';
import { chartHeight, LazyChart } from '../parts/lazy-chart.tsx';
import { Empty } from '../parts/notice.tsx';
import { Skeleton } from '../parts/page.tsx';
import { Table } from '../parts/table.tsx';
import { ChangeText } from './change-text.tsx';
import type { Compared } from './state/answers.ts';
import { comparedLabel } from './state/labels.ts';

interface TrendProps {
  readonly points: readonly Point[];
  readonly interval: Interval;
  /** The last day is over. */
  readonly isOver: boolean;
  /** Days and zone of the points. */
  readonly days: Compared;
  readonly previous?: (Compared & { readonly data: readonly Point[] }) | undefined;
  /** For `ChangeText`; present with `previous`. */
  readonly change?: number | null | undefined;
  /** Flag texts, by the index of the point. */
  readonly flags?: ReadonlyMap<number, string>;
}

/** Height of the line above and the line below the chart. */
const aroundHeight = 68;

/** Shown while the points load. */
export const TrendPlace = () => <Skeleton height={chartHeight + aroundHeight} />;

export function TrendChart(props: TrendProps) {
  const { points, interval, isOver, days, previous, change = null, flags } = props;
  const running = runningIn(points, now(), isOver);
  if (points.length === 0) return <Empty icon="scan" title="No scans in this period" />;
  return (
    <div class="trend">
      {previous !== undefined && (
        <p class="trend-change">
          <ChangeText change={change} than={previous} />
        </p>
      )}
      <LazyChart
        points={points}
        interval={interval}
        running={running}
        height={chartHeight}
        {...(previous === undefined ? {} : { before: previous.data })}
        {...(flags === undefined ? {} : { flags })}
      />
      <div class="trend-foot">
        {previous !== undefined && (
          <ul class="trend-lines">
            <li>
              <span class="line-sample" aria-hidden="true" />
              {comparedLabel(days)}
            </li>
            <li>
              <span class="line-sample line-dashed" aria-hidden="true" />
              {comparedLabel(previous)}
            </li>
            {running !== undefined && running > 0 && (
              <li>
                <span class="line-sample line-dotted" aria-hidden="true" />
                So far
              </li>
            )}
          </ul>
        )}
        <Numbers {...props} running={running} />
      </div>
    </div>
  );
}

interface NumbersProps extends TrendProps {
  readonly running: number | undefined;
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

function NumberTable({ points, interval, running, previous, flags }: NumbersProps) {
  const before = previous?.data ?? [];
  const labels = labelsOf(points, interval, running);
  const labelsBefore = labelsOf(before, interval);
  const more = previous === undefined ? [] : [comparedLabel(previous), { end: 'Scans before' }];
  return (
    <div class="trend-table" tabIndex={0} role="group" aria-label="Scans over time">
      <Table caption="Scans over time" columns={['Time', { end: 'Scans' }, ...more]}>
        {points.slice(0, (running ?? points.length) + 1).map((point, index) => (
          <tr key={point.start}>
            <th scope="row">
              {labels[index]}
              {flags?.has(index) === true && <p class="soft">{flags.get(index)}</p>}
            </th>
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
