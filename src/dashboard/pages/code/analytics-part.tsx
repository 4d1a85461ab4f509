/** A code's analytics, with its conversions and visits while inactive, if it has any. */
import { useMemo } from 'preact/hooks';
import { BarList } from '../../analytics/bar-list.tsx';
import type { Breakdown, Totals } from '../../analytics/state/answers.ts';
import { dayIn } from '../../analytics/state/days.ts';
import { keyLabel } from '../../analytics/state/filters.ts';
import { changesPath, momentsOfCampaign, momentsOfCode } from '../../analytics/state/flags.ts';
import { breakdownPath, subjectOf } from '../../analytics/state/requests.ts';
import { Explore } from '../../analytics/view/explore.tsx';
import { useView, type View } from '../../analytics/view/use-analytics.ts';
import { now } from '../../client/browser-clock.ts';
import { capitalize, formatUtcDay } from '../../client/format.ts';
import { useResource } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import type { EventPage, QrCode } from '../../client/wire.ts';
import { geoWarning } from '../../../model/scan.ts';
import { ConversionFigures } from '../../parts/figures.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Card } from '../../parts/page.tsx';

export function AnalyticsPart({ code }: { readonly code: QrCode }) {
  const view = useView({
    subject: subjectOf('code', code.id),
    wholeOf: (today, zone) => ({ from: dayIn(zone, Date.parse(code.createdAt)), to: today }),
  });
  const isFiltered = Object.keys(view.state.filters).length > 0;
  return (
    <div class="stack">
      <Explore
        view={view}
        moments={useMoments(code)}
        hasRoutes={code.rules.length > 0 || code.split !== null}
        // Conversions have no filters.
        figures={(totals) => !isFiltered && <Conversions code={code} view={view} totals={totals} />}
      >
        {() => !isFiltered && <Missed view={view} />}
      </Explore>
      <Attribution />
    </div>
  );
}

/** Flags of the series: changes of the code, begin and end of its campaigns. */
function useMoments({ id, campaigns }: QrCode) {
  const changes = useResource<EventPage>(changesPath).data?.data;
  return useMemo(() => {
    const schedules = campaigns.flatMap((one) =>
      momentsOfCampaign(one, `Campaign “${one.name}”`, now()),
    );
    return [...momentsOfCode(id, changes ?? []), ...schedules];
  }, [id, campaigns, changes]);
}

interface ConversionsProps {
  readonly code: QrCode;
  readonly view: View;
  readonly totals: Totals;
}

/** Shown if conversions were reported. */
function Conversions({ code, view, totals: { totalScans } }: ConversionsProps) {
  const { from, to } = view.state.range;
  const path = `/qr-codes/${code.id}/conversions?from=${from}&to=${to}`;
  const { data } = useResource<{ readonly conversions: number; readonly value: number }>(path);
  if (data === undefined || data.conversions === 0) return null;
  const { conversions, value } = data;
  const rate = totalScans === 0 ? 0 : conversions / totalScans;
  return <ConversionFigures count={conversions} value={value} rate={rate} />;
}

/** Visits while the code was inactive, by reason. */
function Missed({ view: { subject, state } }: { readonly view: View }) {
  const path = breakdownPath(subject, state, 'missed');
  const rows = useResource<Breakdown>(path).data?.data ?? [];
  if (!rows.some(({ scans }) => scans > 0)) return null;
  return (
    <Card title="Visits while inactive">
      <BarList
        name="Visits while inactive"
        rows={rows}
        labelOf={(key) => keyLabel('missed', key)}
        expected={1}
      />
    </Card>
  );
}

export function Attribution() {
  const { geoDate } = currentSession();
  return (
    <>
      <GeoWarning />
      <p class="attribution">
        Countries and cities: <a href="https://db-ip.com">IP Geolocation by DB-IP</a> and{' '}
        <a href="https://www.nro.net">NRO</a>, CC BY 4.0
        {geoDate && `, data of ${formatUtcDay(geoDate)}`}. Bots, link previews and prefetches are
        never counted as scans.
      </p>
    </>
  );
}

/** Warns of old geo data. */
export function GeoWarning() {
  const { geoDate } = currentSession();
  const warning = geoDate === null ? undefined : geoWarning(geoDate, now());
  return warning === undefined ? null : (
    <Notice tone="warn">
      <p>{capitalize(warning)}.</p>
    </Notice>
  );
}
