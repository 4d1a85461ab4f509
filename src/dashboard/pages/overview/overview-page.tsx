/** Today, the last month, and live activity: a few requests and a stream. */
import { useState } from 'preact/hooks';
import { TotalChange } from '../../analytics/change-text.tsx';
import type { Totals } from '../../analytics/state/answers.ts';
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
import { Notice } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';
import { type IncidentList, incidentText, subjectAddress } from '../alerts/alert-labels.ts';
import { Attribution } from '../code/analytics-part.tsx';
import { feedRowsMax, LiveFeed } from './live-feed.tsx';
import { Welcome } from './welcome.tsx';

interface Summary extends Totals {
  readonly topCountries: ReadonlyArray<{ readonly code: string; readonly scans: number }>;
  readonly topCodes: ReadonlyArray<{
    readonly id: string;
    readonly name: string | null;
    readonly target: string;
    readonly scans: number;
  }>;
  readonly scansPerDay: ReadonlyArray<{ readonly day: string; readonly scans: number }>;
}

const days = 30;
const daysPerWeek = 7;

const summaryPath = (today: string, length: number): string =>
  `/analytics/summary?from=${addDays(today, 1 - length)}&to=${today}&timezone=workspace&compare=previous_weekdays`;

/** Each reload is one request. */
const settleMs = 12_000;

export function OverviewPage() {
  const today = dayIn(zoneOfWorkspace(), now());
  const summary = useResource<Summary>(summaryPath(today, days));
  const week = useResource<Summary>(summaryPath(today, daysPerWeek));
  const isQuiet = summary.data !== undefined && summary.data.topCodes.length === 0;
  const first = useResource<PageOf<QrCodeItem>>(isQuiet ? '/qr-codes?page=1&limit=1' : undefined);
  const [events, setEvents] = useState<readonly ServiceEvent[]>([]);
  const past = useResource<EventPage>(`/events?limit=${feedRowsMax}`);
  const counted = useLiveCount(settleMs, async () => {
    await Promise.all([summary.reload(), week.reload()]);
  });
  const state = useLive((event) => {
    setEvents((before) => [event, ...before].slice(0, feedRowsMax));
    if (event.event === 'qr.scanned') counted.add();
    if (event.event === 'qr.created') void first.reload();
  }, '/v1/events/stream');
  if (first.data?.total === 0) return <Welcome />;
  // An empty workspace gets the welcome page, once that is known.
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
          {(data) => (
            <Ready of={week} skeleton={<Skeleton height={118} />}>
              {(shown) => <Numbers data={data} week={shown} extra={counted.extra} />}
            </Ready>
          )}
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

const incidentsShownMax = 5;

/** Lists open incidents; empty without any. */
function OpenIncidents() {
  const { data } = useResource<IncidentList>('/watches/incidents?open=true&limit=100');
  const incidents = data?.data ?? [];
  if (incidents.length === 0) return null;
  const count = data?.nextCursor === undefined ? String(incidents.length) : '100 or more';
  const title = incidents.length === 1 ? 'One open incident' : `${count} open incidents`;
  return (
    <Notice tone="warn" title={title}>
      <ul>
        {incidents.slice(0, incidentsShownMax).map((incident) => (
          <li key={incident.id} class="break">
            <a dir="auto" href={subjectAddress(incident)}>
              {incident.name}
            </a>
            : {incidentText(incident)}, since <Time iso={incident.since} />
          </li>
        ))}
      </ul>
      <p>
        <a href={pathTo('alerts')}>All alerts</a>
      </p>
    </Notice>
  );
}

interface ChartsProps {
  readonly of: Resource<Summary>;
  readonly extra: number;
}

/** Empty if the numbers above show a problem. */
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

interface NumbersProps {
  readonly data: Summary;
  readonly week: Summary;
  readonly extra: number;
}

function Numbers({ data, week, extra }: NumbersProps) {
  const today = (data.scansPerDay.at(-1)?.scans ?? 0) + extra;
  const yesterday = data.scansPerDay.at(-2)?.scans ?? 0;
  return (
    <Figures>
      <Figure
        label="Scans today, so far"
        value={formatNumber(today)}
        note={`Yesterday, the whole day: ${formatNumber(yesterday)} · ${zoneLabel(zoneOfWorkspace())}`}
      />
      <Figure
        label="Last 7 days"
        value={formatShort(week.totalScans + extra)}
        note={<TotalChange of={week} field="totalScans" />}
      />
      <Figure
        label="Last 30 days"
        value={formatShort(data.totalScans + extra)}
        note={<TotalChange of={data} field="totalScans" />}
      />
      <Figure
        label="Unique scanners, 30 days"
        value={formatShort(data.uniqueScanners)}
        note={<TotalChange of={data} field="uniqueScanners" />}
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
      <LazyChart points={points} interval="day" running={last} height={chartHeight} />
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

/** The ten of the summary; each links to a page with all. */
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
