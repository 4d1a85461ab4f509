/**
 * The analytics of a workspace, a campaign or a code: range and filters on top, then totals, the series, breakdowns and
 * the hours of the week. Every card follows the address.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Problem } from '../../client/problem.ts';
import { pushQuery } from '../../client/router.ts';
import { currentSession } from '../../client/session.ts';
import { Button } from '../../parts/button.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Ready } from '../../parts/page.tsx';
import { HeatMap } from '../heat-map.tsx';
import type { Totals } from '../state/answers.ts';
import type { Moment } from '../state/flags.ts';
import { breakdownPath } from '../state/requests.ts';
import { zoneLabel } from '../state/labels.ts';
import { FilterChips } from './filter-chips.tsx';
import { GroupCard } from './group-card.tsx';
import { RangeBar } from './range-bar.tsx';
import { SeriesCard } from './series-card.tsx';
import { TotalFigures, TotalPlaces } from './totals.tsx';
import { explain, isAboutQuery } from './query-faults.ts';
import { type Loaded, useAnalytics, type View } from './use-analytics.ts';

interface ExploreProps<T extends Totals> {
  readonly view: View;
  /** For a code with more than one destination. */
  readonly hasRoutes?: boolean;
  /** Moments that the series shows as flags. The same list until something changes. */
  readonly moments?: readonly Moment[];
  /** Figures next to the totals. */
  readonly figures?: (totals: T) => ComponentChildren;
  /** Cards between the series and the breakdowns. */
  readonly children?: (totals: T | undefined) => ComponentChildren;
}

const noMoments: readonly Moment[] = [];

export function Explore<T extends Totals>(props: ExploreProps<T>) {
  const { view, hasRoutes = false, moments = noMoments, figures, children } = props;
  const loaded = useAnalytics<T>(view, hasRoutes);
  const { totals, series } = loaded;
  const { problem, data } = totals;
  const isRefused = isAboutQuery(problem);
  // Scans of some days are known while their scanners are not.
  const hasSeries = !isRefused || !isAboutQuery(series.problem);
  return (
    <div class="stack">
      <RangeBar view={view} />
      <FilterChips state={view.state} />
      {problem !== undefined && (
        <Trouble problem={problem} view={view} onRetry={() => void totals.reload()} />
      )}
      {!isRefused && (problem === undefined || data !== undefined) && (
        <Ready of={{ ...totals, problem: undefined }} skeleton={<TotalPlaces />}>
          {(shown) => (
            <TotalFigures data={shown} state={view.state}>
              {figures?.(shown)}
            </TotalFigures>
          )}
        </Ready>
      )}
      {hasSeries && <SeriesCard view={view} series={series} moments={moments} />}
      {children?.(data)}
      {!isRefused && <Breakdowns view={view} loaded={loaded} />}
      <SlowNotice loaded={loaded} />
    </div>
  );
}

interface TroubleProps {
  readonly problem: Problem;
  readonly view: View;
  readonly onRetry: () => void;
}

/** Explains missing numbers for these days, filters or zone, and offers others. */
function Trouble({ problem, view, onRetry }: TroubleProps) {
  const explained = explain(problem, view.zone);
  if (explained === undefined) return <ProblemNotice problem={problem} onRetry={onRetry} />;
  return (
    <Notice tone="warn" title={explained.title}>
      <p>{explained.message}</p>
      <p class="notice-ways">
        {explained.ways.map(({ label, change }) => (
          <Button key={label} size="small" onClick={() => pushQuery(change)}>
            {label}
          </Button>
        ))}
      </p>
    </Notice>
  );
}

interface LoadedProps {
  readonly view: View;
  readonly loaded: Loaded;
}

function Breakdowns({ view, loaded: { groups, hours, totals } }: LoadedProps) {
  const { subject, state, zone } = view;
  const { weekStart } = currentSession().workspace;
  // Next to the last card, or below all cards at full width.
  const isWide = groups.filter(({ tab }) => tab !== 'map').length % 2 === 0;
  return (
    <div class="explore-cards">
      {groups.map((group) => (
        <GroupCard key={group.name} view={view} group={group} scans={totals.data?.totalScans} />
      ))}
      <Card
        {...(isWide ? { class: 'card-wide' } : {})}
        title="Hours of the week"
        lead={zoneLabel(zone)}
        actions={
          <ExportButton
            path={breakdownPath(subject, state, 'hour_of_week')}
            fileName="hours-of-the-week.csv"
            label="CSV"
            of="Hours of the week"
          />
        }
      >
        <Ready of={hours} skeleton={<HeatMap rows={undefined} weekStart={weekStart} />}>
          {({ data }) => <HeatMap rows={data} weekStart={weekStart} />}
        </Ready>
      </Card>
    </div>
  );
}

/** Most answers arrive before anyone could read the text. */
const slowMs = 1_500;

/** Shown while single scans are counted: seconds for ten million. */
function SlowNotice({ loaded: { totals, series, groups } }: { readonly loaded: Loaded }) {
  const isLoading = [totals, series, ...groups.map(({ rows }) => rows)].some(
    ({ isStale, isLoading: isUnderWay, problem }) =>
      problem === undefined && (isStale || isUnderWay),
  );
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!isLoading) return undefined;
    const timer = setTimeout(() => setSlow(true), slowMs);
    return () => {
      clearTimeout(timer);
      setSlow(false);
    };
  }, [isLoading]);
  return (
    <>
      <span class="unseen" role="status">
        {isSlow && 'Counting scans one by one'}
      </span>
      {isSlow && (
        <div class="slow">
          <progress class="progress" />
          Counting scans one by one
        </div>
      )}
    </>
  );
}
