/** Who scans, where and when: the same for the same day, and as the story of each print says. */
import { expect, it } from 'vitest';
import { cities, networkSize } from '../../../src/operations/demo/content.ts';
import { days, type DemoScan, trafficOf } from '../../../src/operations/demo/traffic.ts';
import { dayOf, hourMs } from '../../../src/model/day.ts';
import { Geo } from '../../../src/engine/visitor/geo/geo.ts';
import { openBundledGeo } from '../../engine/visitor/geo-data.ts';

/** A Wednesday. */
const today = dayOf(Date.UTC(2026, 5, 10));
const all = [...trafficOf(today, 1 / 20)].flat();

const timesOf = (slug: string): readonly number[] =>
  all.filter((scan) => scan.slug === slug).map(({ timeMs }) => timeMs);
const agoOf = ({ timeMs }: Pick<DemoScan, 'timeMs'>): number => today - dayOf(timeMs);

it('scans are the same each time, in the order of time, of every code that leads anywhere', () => {
  expect([...trafficOf(today, 1 / 20)].flat()).toEqual(all);
  expect(all.length).toBeGreaterThan(10_000);
  const times = all.map(({ timeMs }) => timeMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(agoOf(all[0]!)).toBe(days - 1);
  expect(new Set(all.map(({ slug }) => slug)).size).toBe(57);
});

it('guests come again, and bots come, too', () => {
  const phones = new Set(all.map(({ address, agent }) => `${address} ${agent}`));
  expect(phones.size).toBeGreaterThan(all.length * 0.4);
  expect(phones.size).toBeLessThan(all.length * 0.8);
  const bots = all.filter(({ agent }) => /bot|WhatsApp|facebookexternalhit/i.test(agent));
  expect(bots.length / all.length).toBeCloseTo(0.032, 2);
});

it('a poster that was taken down is silent, an event is seen, a restaurant opens', () => {
  // By the clock of Berlin a day begins and ends before that of UTC.
  const posters = timesOf('BER-POSTER').map((timeMs) => agoOf({ timeMs }));
  expect(Math.min(...posters)).toBe(18);
  expect(Math.max(...timesOf('ZRH-T1').map((timeMs) => agoOf({ timeMs })))).toBeLessThan(43);
  const festival = timesOf('LIS-POSTER').filter((timeMs) => agoOf({ timeMs }) === 24).length;
  expect(festival).toBeGreaterThan((timesOf('LIS-POSTER').length / days) * 3);
});

it('tables are scanned while their restaurant is open, by its own clock', () => {
  // Nine to midnight in Chicago, which is five hours behind in June and March; closed on Mondays.
  const local = timesOf('CHI-T1').map((timeMs) => new Date(timeMs - 5 * hourMs));
  expect(local.filter((time) => time.getUTCHours() > 0 && time.getUTCHours() < 9)).toEqual([]);
  expect(local.filter((time) => time.getUTCDay() === 1)).toEqual([]);
});

it('the bundled table knows each network as the city that it stands for', () => {
  const { data, close } = openBundledGeo();
  const geo = new Geo(data);
  const address = Buffer.alloc(16).fill(255, 10, 12);
  for (const [name, { country, networks }] of cities) {
    for (const first of networks) {
      for (let host = 1; host < networkSize; host += 51) {
        address.writeUInt32BE(first + host, 12);
        expect([first, geo.lookup(address, 0).namedCity]).toEqual([first, `${name}, ${country}`]);
      }
    }
  }
  close();
});
