/** Scans over time: a line, a dashed line for the compared days, and a choice of the interval. */
import { useEffect, useMemo } from 'preact/hooks';
import type { Resource } from '../../client/resource.ts';
import { pushQuery } from '../../client/router.ts';
import { ExportButton } from '../../parts/export-button.tsx';
import { Tabs } from '../../parts/list.tsx';
import { Card, Ready } from '../../parts/page.tsx';
import type { Series } from '../state/answers.ts';
import { flagsOn, type Moment } from '../state/flags.ts';
import { intervals, intervalsFor, standardInterval } from '../state/ranges.ts';
import { seriesPath } from '../state/requests.ts';
import { zoneLabel } from '../state/labels.ts';
import { TrendChart, TrendPlace } from '../trend-chart.tsx';
import type { View } from './use-analytics.ts';
import { loadChart } from '../../parts/lazy-chart.tsx';

interface SeriesProps {
  readonly view: View;
  readonly series: Resource<Series>;
  readonly moments: readonly Moment[];
}

export function SeriesCard({ view, series, moments }: SeriesProps) {
  const { state, zone, subject, bounds } = view;
  const { interval, range } = state;
  // Loads together with the numbers, not after them.
  useEffect(() => void loadChart(), []);
  const flags = useMemo(
    () => flagsOn(series.data?.data ?? [], moments, zone, range.to),
    [series.data, moments, range.to, zone],
  );
  const word = intervals.find(({ value }) => value === interval)?.word ?? interval;
  return (
    <Card
      title="Scans over time"
      lead={`Per ${word}, ${zoneLabel(zone)}`}
      actions={
        <>
          <Tabs
            label="Interval"
            value={interval}
            tabs={intervalsFor(range)}
            onChange={(value) =>
              pushQuery({ interval: value === standardInterval(range) ? undefined : value })
            }
          />
          <ExportButton
            path={seriesPath(subject, state)}
            fileName="scans-over-time.csv"
            label="CSV"
            of="Scans over time"
          />
        </>
      }
    >
      <Ready of={series} skeleton={<TrendPlace />}>
        {(shown) => (
          <TrendChart
            points={shown.data}
            isOver={range.to < bounds.today}
            days={shown}
            interval={interval}
            previous={shown.previous}
            change={shown.change?.totalScans}
            flags={flags}
          />
        )}
      </Ready>
    </Card>
  );
}
