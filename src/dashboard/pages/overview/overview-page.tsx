/** Today, the last month, and live activity: one request and a stream. */
import { useState } from 'preact/hooks';
import { ChangeText } from '../../analytics/change-text.tsx';
import { addDays, dayIn } from '../../analytics/state/days.ts';
import { zoneLabel } from '../../analytics/state/labels.ts';
import { now } from '../../client/browser-clock.ts';
import { countryName, formatNumber, formatShort, shortAddress } from '../../client/format.ts';
import { useLiveCount } from '../../client/live-count.ts';
import { useLive } from '../../client/live.ts';
import { type Resource, useResource } from '../../client/resource.ts';
import { may, zoneOfWorkspace } from '../../client/session.ts';
import type { EventPage, Page as PageOf, QrCodeItem, ServiceEvent } from '../../client/wire.ts';
import { Bars } from '../../parts/bars.tsx';
import { ButtonLink } from '../../parts/button.tsx';
import { Figure, Figures } from '../../parts/figures.tsx';
import { chartHeight, LazyChart } from '../../parts/lazy-chart.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { pathTo } from '../../paths.ts';
import { OpenIncidents } from '../alerts/open-incidents.tsx';
import { Attribution } from '../code/analytics-part.tsx';
import { feedRowsMax, LiveFeed } from './live-feed.tsx';
import { Welcome } from './welcome.tsx';

interface Summary {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  readonly topCountries: ReadonlyArray<{ readonly code: string; readonly scans: number }>;
  readonly topCodes: ReadonlyArray<{
    readonly id: string;
    readonly name: string | null;
    readonly target: string;
    readonly scans: number;
  }>;
  readonly scansPerDay: ReadonlyArray<{ readonly day: string; readonly scans: number }>;
  /** Null = not known in the workspace's zone. */
  readonly previous: { readonly totalScans: number | null; readonly complete: boolean };
}

const days = 30;
/** Each reload is one request. */
const settleMs = 12_000;

export function OverviewPage() {
  const today = dayIn(zoneOfWorkspace(), now());
  const span = `from=${addDays(today, 1 - days)}&to=${today}&timezone=workspace`;
  const summary = useResource<Summary>(`/analytics/summary?${span}`);
  const isQuiet = summary.data !== undefined && summary.data.topCodes.length === 0;
  const first = useResource<PageOf<QrCodeItem>>(isQuiet ? '/qr-codes?page=1&limit=1' : undefined);
  const [events, setEvents] = useState<readonly ServiceEvent[]>([]);
  const past = useResource<EventPage>(`/events?limit=${feedRowsMax}`);
  const counted = useLiveCount(settleMs, summary.reload);
  const state = useLive((event) => {
    setEvents((before) => [event, ...before].slice(0, feedRowsMax));
    if (event.event === 'qr.scanned') counted.add();
    if (event.event === 'qr.created') void first.reload();
  }, '/v1/events/stream');
  if (first.data?.total === 0) return <Welcome />;
  // A workspace without codes is welcomed, once that is known.
  const isLoading = [summary, past].some(
    ({ data, problem }) => data === undefined && problem === undefined,
  );
  const live = new Set(events.map(({ id }) => id));
  const shown = [...events, ...(past.data?.data ?? []).filter(({ id }) => !live.has(id))];
  return (
    <Page title="Overview" actions={<NewCode />}>
      <div class="stack">
        <OpenIncidents />
        <Ready of={summary} skeleton={<Skeleton height={118} />}>
          {(data) => <Numbers data={data} extra={counted.extra} />}
        </Ready>
        <div class="grid-main">
          <Charts of={summary} extra={counted.extra} />
          <LiveFeed
            state={state}
            past={past}
            events={isLoading ? undefined : shown.slice(0, feedRowsMax)}
            fresh={live}
          />
        </div>
        <Attribution />
      </div>
    </Page>
  );
}

interface ChartsProps {
  readonly of: Resource<Summary>;
  readonly extra: number;
}

/** Nothing where the numbers above say why there is nothing. */
function Charts({ of: { data, problem }, extra }: ChartsProps) {
  if (data === undefined) return problem === undefined ? <Skeleton height={320} /> : null;
  return (
    <div class="stack">
      <Curve data={data} extra={extra} />
      <div class="grid-2">
        <TopCodes data={data} extra={extra} />
        <Countries data={data} />
      </div>
    </div>
  );
}

function NewCode() {
  if (!may('editor')) return null;
  return (
    <ButtonLink tone="accent" icon="plus" href={pathTo('newCode')}>
      New code
    </ButtonLink>
  );
}

const sum = (values: ReadonlyArray<{ readonly scans: number }>): number =>
  values.reduce((total, { scans }) => total + scans, 0);

/** Nothing is compared with a period of which only a part was counted. */
function changeOf(now: number, before: number, isWhole: boolean): number | null | 'partial' {
  if (before === 0) return null;
  return isWhole ? now / before - 1 : 'partial';
}

function Numbers({ data, extra }: { readonly data: Summary; readonly extra: number }) {
  const perDay = data.scansPerDay;
  const today = (perDay.at(-1)?.scans ?? 0) + extra;
  const yesterday = perDay.at(-2)?.scans ?? 0;
  const week = sum(perDay.slice(-7)) + extra;
  const weekBefore = sum(perDay.slice(-14, -7));
  // Counting had begun: in the month before, or by the first day of the week before.
  const { complete: isWholeMonth } = data.previous;
  const monthBefore = data.previous.totalScans ?? 0;
  const isWhole = monthBefore > 0 || sum(perDay.slice(0, -13)) > 0;
  const month = data.totalScans + extra;
  const monthChange = changeOf(month, monthBefore, isWholeMonth);
  return (
    <Figures>
      <Figure
        label="Scans today"
        value={formatNumber(today)}
        note={`Yesterday ${formatNumber(yesterday)} · ${zoneLabel(zoneOfWorkspace())}`}
      />
      <Figure
        label="Last 7 days"
        value={formatShort(week)}
        note={<ChangeText change={changeOf(week, weekBefore, isWhole)} than="the 7 days before" />}
      />
      <Figure
        label="Last 30 days"
        value={formatShort(month)}
        note={<ChangeText change={monthChange} than="the 30 days before" />}
      />
      <Figure
        label="Unique scanners"
        value={formatShort(data.uniqueScanners)}
        note="Last 30 days, all codes"
      />
    </Figures>
  );
}

function Curve({ data, extra }: { readonly data: Summary; readonly extra: number }) {
  const last = data.scansPerDay.length - 1;
  const points = data.scansPerDay.map(({ day, scans }, index) => ({
    start: `${day}T00:00:00.000Z`,
    scans: index === last ? scans + extra : scans,
  }));
  return (
    <Card
      title="Scans by day"
      lead={`Last 30 days, ${zoneLabel(zoneOfWorkspace())}`}
      actions={
        <ButtonLink size="small" icon="chart" href={pathTo('analytics')}>
          All analytics
        </ButtonLink>
      }
    >
      <LazyChart points={points} interval="day" height={chartHeight} />
    </Card>
  );
}

function TopCodes({ data, extra }: { readonly data: Summary; readonly extra: number }) {
  const shares = data.topCodes.map(({ id, name, target, scans }) => ({
    key: id,
    label: name ?? shortAddress(target),
    value: scans,
    href: pathTo('code', { id }),
  }));
  return (
    <Card title="Most scanned" lead="Last 30 days">
      <Bars shares={shares} total={data.totalScans + extra} emptyText="No scans yet" />
    </Card>
  );
}

/** The ten of the summary; all of them are on the page that each leads to. */
function Countries({ data }: { readonly data: Summary }) {
  const shares = data.topCountries.map(({ code, scans }) => ({
    key: code,
    label: countryName(code),
    value: scans,
    href: `${pathTo('analytics')}?country=${code}`,
  }));
  return (
    <Card title="Countries" lead="Last 30 days">
      <Bars shares={shares} total={data.totalScans} emptyText="No scans yet" />
    </Card>
  );
}
