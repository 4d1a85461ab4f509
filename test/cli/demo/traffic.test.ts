/** Who scans, where and when: the same for the same seed, and as the story of each print says. */
import { expect, it } from 'vitest';
import { addressBytes, cities, networkSize } from '../../../src/cli/demo/content/places.ts';
import { printsOf } from '../../../src/cli/demo/content/prints.ts';
import { restaurants } from '../../../src/cli/demo/content/restaurants.ts';
import { DemoDays } from '../../../src/cli/demo/demo-days.ts';
import { type DemoScan, Traffic } from '../../../src/cli/demo/traffic.ts';
import { dayMs, dayOf } from '../../../src/model/day.ts';
import { Geo } from '../../../src/scans/visitor/geo/geo.ts';
import { openBundledGeo } from '../../scans/visitor/geo-data.ts';

/** Noon of a Wednesday. */
const noonMs = Date.UTC(2026, 5, 10, 12);
const scans = 12_000;

function trafficOf(seed: number, nowMs = noonMs) {
  const days = new DemoDays(90, nowMs);
  const dayStart = (daysBefore: number): number => days.startMs(daysBefore);
  const printed = restaurants.map((restaurant) => ({
    restaurant,
    prints: printsOf({ restaurant, logo: 'logo:0', dayMs: dayStart, share: 1 }),
  }));
  const traffic = new Traffic({ seed, days, printed, scans });
  const all: DemoScan[] = [];
  for (let day = days.first; day <= days.today; day += 1) all.push(...traffic.ofDay(day));
  return { days, all };
}

const demo = trafficOf(1);

const written = (all: readonly DemoScan[]): string[] =>
  all.map(({ timeMs, print, visitor, referer, isPrefetch }) =>
    [timeMs, print.slug, visitor.address, visitor.agent, referer, isPrefetch].join(' '),
  );

it('the same seed gives the same scans at any time of the day, another one others', () => {
  const one = written(demo.all);
  expect(written(trafficOf(1, noonMs + 3_600_000).all)).toEqual(one);
  expect(written(trafficOf(2).all)).not.toEqual(one);
});

it('scans are as many as asked for, in the order of time, of every code that leads anywhere', () => {
  const { all } = demo;
  expect(Math.abs(all.length - scans)).toBeLessThan(scans / 20);
  const times = all.map(({ timeMs }) => timeMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(new Set(all.map(({ print }) => print.slug)).size).toBe(57);
});

it('guests come again, and bots come, too', () => {
  const { all } = demo;
  const phones = new Set(all.map(({ visitor }) => `${visitor.address} ${visitor.agent}`));
  expect(phones.size).toBeGreaterThan(all.length * 0.4);
  expect(phones.size).toBeLessThan(all.length * 0.8);
  const bots = all.filter(({ visitor }) => /bot|WhatsApp|facebookexternalhit/i.test(visitor.agent));
  expect(bots.length / all.length).toBeCloseTo(0.032, 2);
});

it('a poster that was taken down is silent, an event is seen, a restaurant opens', () => {
  const { days, all } = demo;
  const daysOf = (slug: string): number[] =>
    all.filter(({ print }) => print.slug === slug).map(({ timeMs }) => dayOf(timeMs));
  // By the clock of Berlin a day begins and ends before that of UTC.
  expect(Math.max(...daysOf('BER-POSTER'))).toBe(days.day(17) - 1);
  expect(Math.min(...daysOf('ZRH-T1'))).toBeGreaterThanOrEqual(days.day(41) - 1);
  const ofEvent = daysOf('LIS-POSTER').filter((day) => day === days.day(24)).length;
  const usual = (daysOf('LIS-POSTER').length - ofEvent) / (days.count - 1);
  expect(ofEvent).toBeGreaterThan(usual * 3);
});

it('tables are scanned while their restaurant is open, by its own clock', () => {
  const { all } = demo;
  const hours = all
    .filter(({ print }) => print.slug === 'CHI-T1')
    .map(({ timeMs }) => new Date(timeMs).getUTCHours());
  // Nine to midnight in Chicago, which is five hours behind in June and March.
  expect(hours.filter((hour) => hour > 5 && hour < 14)).toEqual([]);
  const mondays = all.filter(
    ({ print, timeMs }) =>
      print.slug === 'CHI-T1' && new Date(timeMs - 5 * 3_600_000).getUTCDay() === 1,
  );
  expect(mondays).toEqual([]);
});

it('the bundled table knows each network as the city that it stands for', () => {
  const { data, close } = openBundledGeo();
  const geo = new Geo(data);
  const address = new Uint8Array(16).fill(255, 10, 12);
  for (const { name, networks } of cities.values()) {
    for (const first of networks) {
      for (let host = 1; host < networkSize; host += 51) {
        address.set(addressBytes(first + host), 12);
        expect([first, geo.lookup(address, 0).namedCity]).toEqual([first, name]);
      }
    }
  }
  close();
});

it('a demo of fewer days has the same story, nearer together', () => {
  const days = new DemoDays(9, noonMs);
  expect(days.today - days.first).toBe(8);
  expect(days.today - days.day(41)).toBe(4);
  expect(days.today - days.day(1)).toBe(1);
  expect(days.startMs(-25) - noonMs).toBeGreaterThan(2 * dayMs);
});
