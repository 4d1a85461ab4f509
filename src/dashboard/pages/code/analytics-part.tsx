/** A code's analytics over a range of days. Each breakdown is loaded when it is shown. */
import { formatNumber, formatPercent } from '../../client/format.ts';
import { useResource } from '../../client/resource.ts';
import type { Analytics, Breakdown, QrCode, Timeseries } from '../../client/wire.ts';
import { BreakdownCard } from '../../parts/breakdown.tsx';
import { intervalOf, RangePicker, rangeQuery, useRange } from '../../parts/date-range.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { ConversionFigures, Figure, Figures } from '../../parts/figures.tsx';
import { chartHeight, LazyChart } from '../../parts/lazy-chart.tsx';
import { Card, Ready, Skeleton } from '../../parts/page.tsx';

export function AnalyticsPart({ code }: { readonly code: QrCode }) {
  const { range } = useRange();
  const base = `/qr-codes/${code.id}/analytics`;
  const span = rangeQuery(range);
  const interval = intervalOf(range);
  const totals = useResource<Analytics>(`${base}?${span}`);
  const series = useResource<Timeseries>(`${base}/timeseries?${span}&interval=${interval}`);
  return (
    <div class="stack">
      <RangePicker />
      <Ready of={totals} skeleton={<Skeleton height={112} />}>
        {(data) => <Totals data={data} />}
      </Ready>
      <Conversions path={`/qr-codes/${code.id}/conversions?${span}`} scans={totals.data} />
      <Card
        title="Scans over time"
        lead={interval === 'day' ? 'Per day, in UTC' : 'Per hour, in UTC'}
        actions={
          <ExportButton
            path={`${base}/timeseries?${span}&interval=${interval}`}
            fileName="scans-over-time.csv"
            label="CSV"
          />
        }
      >
        <Ready of={series} skeleton={<Skeleton height={chartHeight} />}>
          {({ data, interval: shown }) => (
            <LazyChart points={data} interval={shown} height={chartHeight} />
          )}
        </Ready>
      </Card>
      <Routes code={code} base={base} span={span} />
      <div class="grid-2">
        <BreakdownCard
          base={base}
          span={span}
          title="Locations"
          by={['country', 'city', 'referer']}
        />
        <BreakdownCard
          base={base}
          span={span}
          title="Technology"
          by={['device', 'os', 'browser']}
        />
      </div>
      <BreakdownCard base={base} span={span} title="Timing and bots" by={['hour', 'bot']} />
      <Attribution />
    </div>
  );
}

function Totals({ data }: { readonly data: Analytics }) {
  const { totalScans, uniqueScanners, devices } = data;
  const share = (count: number): string =>
    totalScans === 0 ? '' : `${formatPercent(count / totalScans)} of scans`;
  return (
    <Figures>
      <Figure label="Scans" value={formatNumber(totalScans)} />
      <Figure label="Unique scanners" value={formatNumber(uniqueScanners)} />
      <Figure label="iOS" value={formatNumber(devices.ios)} note={share(devices.ios)} />
      <Figure label="Android" value={formatNumber(devices.android)} note={share(devices.android)} />
    </Figures>
  );
}

interface RoutesProps {
  readonly code: QrCode;
  readonly base: string;
  readonly span: string;
}

/** Of a code that leads to more than its destination; and who came in vain, if anybody did. */
function Routes({ code: { rules, split }, base, span }: RoutesProps) {
  const hasLabels = rules.length > 0 || split !== null;
  const missed = useResource<Breakdown>(`${base}/breakdown?${span}&by=missed`).data?.data ?? [];
  const isMissed = missed.some(({ scans }) => scans > 0);
  if (!hasLabels && !isMissed) return null;
  return (
    <div class="grid-2">
      {hasLabels && <BreakdownCard base={base} span={span} title="By route" by={['route']} />}
      {isMissed && (
        <BreakdownCard base={base} span={span} title="People who came in vain" by={['missed']} />
      )}
    </div>
  );
}

interface ConversionsProps {
  readonly path: string;
  readonly scans: Analytics | undefined;
}

/** Shown to those who report conversions. */
function Conversions({ path, scans }: ConversionsProps) {
  const { data } = useResource<{ readonly conversions: number; readonly value: number }>(path);
  if (data === undefined || data.conversions === 0) return null;
  const { conversions, value } = data;
  const rate = scans === undefined || scans.totalScans === 0 ? 0 : conversions / scans.totalScans;
  return (
    <Figures>
      <ConversionFigures count={conversions} value={value} rate={rate} />
    </Figures>
  );
}

export function Attribution() {
  return (
    <p class="attribution">
      Countries and cities: <a href="https://db-ip.com">IP Geolocation by DB-IP</a> and{' '}
      <a href="https://www.nro.net">NRO</a>, CC BY 4.0. Bots, link previews and prefetches are never
      counted as scans.
    </p>
  );
}
