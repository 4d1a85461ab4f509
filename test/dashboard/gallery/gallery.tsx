/**
 * The parts of the analytics on one page, with made-up numbers, for tests in a real browser: `?state=loading`, `empty`,
 * or else full. What a click filters by stands in the heading.
 */
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { BarList } from '../../../src/dashboard/analytics/bar-list.tsx';
import { ChangeText } from '../../../src/dashboard/analytics/change-text.tsx';
import { HeatMap } from '../../../src/dashboard/analytics/heat-map.tsx';
import { LiveView, liveRowsMax } from '../../../src/dashboard/analytics/live-view.tsx';
import type { Row } from '../../../src/dashboard/analytics/rows.ts';
import { TrendChart, TrendPlace } from '../../../src/dashboard/analytics/trend-chart.tsx';
import { WorldMap } from '../../../src/dashboard/analytics/world-map.tsx';
import { countryName } from '../../../src/dashboard/client/format.ts';
import type { Point } from '../../../src/dashboard/client/point-labels.ts';
import type { ServiceEvent } from '../../../src/dashboard/client/wire.ts';
import { Frame } from '../../../src/dashboard/shell/frame.tsx';
import { Card, Page } from '../../../src/dashboard/parts/page.tsx';

const state = new URLSearchParams(location.search).get('state');

/** Of the state that the address asks for. */
function shown<T>(rows: readonly T[]): readonly T[] | undefined {
  if (state === 'loading') return undefined;
  return state === 'empty' ? [] : rows;
}

const letters =
  'DE FR US SG CH AT NL GB ES IT PL SE MT JP BR IN AU CA ZA HK MU NO DK FI PT GR TR EG KE NZ XK TW';
const countries: readonly Row[] = [
  ...letters.split(' ').map((key, rank) => ({ key, scans: Math.ceil(9_000 / (rank + 1) ** 1.7) })),
  { key: 'ZZ', scans: 40 },
];

const longName =
  'A café with a name so long that it must be written on two lines or more, as people write on their tables';
const names: readonly Row[] = [
  { key: longName, scans: 4_000_000 },
  { key: 'Zürich, CH', scans: 12_345 },
  ...Array.from({ length: 9_998 }, (_, index) => ({
    key: `Town ${index + 1}, US`,
    scans: 10_000 - index,
  })),
  { key: 'other', scans: 777 },
];

const devices: readonly Row[] = [
  { key: 'mobile', scans: 900 },
  { key: 'desktop', scans: 100 },
  { key: 'other', scans: 20 },
];

const hours: readonly Row[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].flatMap(
  (day, index) =>
    Array.from({ length: 24 }, (_, hour) => {
      const wave = Math.max(0, Math.sin(((hour - 7) / 15) * Math.PI)) * (index > 3 ? 160 : 90);
      const isPeak = day === 'fri' && hour === 18;
      return {
        key: `${day}-${String(hour).padStart(2, '0')}`,
        scans: Math.round(isPeak ? 200 : wave),
      };
    }),
);

const dayMs = 86_400_000;
const pointsFrom = (day: string, count: number, scale: number): Point[] =>
  Array.from({ length: count }, (_, index) => ({
    start: `${new Date(Date.parse(day) + index * dayMs).toISOString().slice(0, 10)}T00:00:00-04:00`,
    scans: Math.round(scale * (120 + 80 * Math.sin(index / 2) + 9 * (index % 5))),
  }));

/** The day that New York's clock goes back: 25 hours. */
const longDay: readonly Point[] = Array.from({ length: 25 }, (_, index) => {
  const hour = String(index < 2 ? index : index - 1).padStart(2, '0');
  return { start: `2026-11-01T${hour}:00:00-0${index < 2 ? 4 : 5}:00`, scans: 10 + index };
});

const scanOf = (index: number): ServiceEvent => ({
  id: `evt_${index}`,
  event: 'qr.scanned',
  createdAt: new Date(Date.parse('2026-11-01T12:00:00Z') + index * 1_000).toISOString(),
  data: { qrId: 'qr_0123456789', city: 'Chicago', country: 'US', device: 'mobile', os: 'iOS' },
});

function Live() {
  const [count, setCount] = useState(liveRowsMax + 10);
  const scans = Array.from({ length: count }, (_, index) => scanOf(count - index));
  return (
    <Card title="Live">
      <LiveView state="live" scans={shown(scans)} />
      <button type="button" onClick={() => setCount(count + 1)}>
        Scan a code
      </button>
    </Card>
  );
}

/** Where something happened: on 2 October, and on the last day shown. */
const flags = new Map([
  [1, 'Paused, Destination changed'],
  [29, 'Campaign “Autumn” ended'],
]);

function Trends() {
  const days = { from: '2026-10-01', to: '2026-10-30', until: '2026-10-30T01:45:00+01:00' };
  const previous = {
    from: '2026-08-27',
    to: '2026-09-25',
    until: '2026-09-25T01:45:00+02:00',
    data: pointsFrom('2026-08-27', 30, 0.8),
  };
  const points = shown(pointsFrom('2026-10-01', 30, 1));
  const hours = shown(longDay);
  return (
    <>
      <Card title="Trend">
        {points === undefined ? (
          <TrendPlace />
        ) : (
          <TrendChart
            points={points}
            isOver={false}
            interval="day"
            days={days}
            previous={previous}
            change={0.12}
            flags={flags}
          />
        )}
      </Card>
      <Card title="One day">
        {hours === undefined ? (
          <TrendPlace />
        ) : (
          <TrendChart points={hours} isOver interval="hour" days={days} />
        )}
      </Card>
      <Card title="Changes">
        <ChangeText change={null} than={previous} /> <ChangeText change={-0.034} than={previous} />{' '}
        <ChangeText change={0} than={previous} />
      </Card>
    </>
  );
}

function Gallery() {
  const [selected, onSelect] = useState<string | undefined>();
  const filter = { selected, onSelect };
  const nameOf = (key: string): string => key;
  return (
    <Frame>
      <Page title={`Filter: ${selected ?? 'none'}`}>
        <Trends />
        <Card title="Countries">
          <WorldMap rows={shown(countries)} {...filter} />
        </Card>
        <Card title="Hours of the week">
          <HeatMap rows={shown(hours)} weekStart="sun" />
        </Card>
        <div class="grid-2">
          <Card title="Towns">
            <BarList
              name="Towns"
              rows={shown(names)}
              labelOf={nameOf}
              csv={{ path: '/towns', fileName: 'towns.csv' }}
              {...filter}
            />
          </Card>
          <Card title="Devices">
            <BarList
              name="Devices"
              rows={shown(devices)}
              labelOf={nameOf}
              expected={3}
              {...filter}
            />
          </Card>
          <Card title="Fixed">
            <BarList
              name="Fixed"
              rows={shown(countries)}
              labelOf={countryName}
              csv={{ path: '/fixed', fileName: 'fixed.csv' }}
            />
          </Card>
          <Live />
        </div>
      </Page>
    </Frame>
  );
}

const place = document.querySelector('#app');
if (place !== null) {
  place.textContent = '';
  render(<Gallery />, place);
}
