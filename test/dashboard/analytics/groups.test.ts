/** Which breakdowns there are, and which tab of each is open. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stepClass, stepOf, stepsOf } from '../../../src/dashboard/analytics/color-steps.ts';
import {
  type Atlas,
  lettersOf,
  smallPlaces,
  worldOf,
} from '../../../src/dashboard/analytics/map/shapes.ts';
import type { Filters } from '../../../src/dashboard/analytics/state/filters.ts';
import {
  flagsOn,
  momentsOfCampaign,
  momentsOfCode,
} from '../../../src/dashboard/analytics/state/flags.ts';
import { filtersOf, groupsOf, tabIn } from '../../../src/dashboard/analytics/state/groups.ts';
import { subjectOf, workspaceSubject } from '../../../src/dashboard/analytics/state/requests.ts';
import type { ServiceEvent } from '../../../src/dashboard/client/wire.ts';

const code = subjectOf('code', 'qr_1');
const campaign = subjectOf('campaign', 'cmp_1');
type Case = readonly [typeof code, Filters, 'routes' | 'no routes', readonly string[]];

const cases: readonly Case[] = [
  [workspaceSubject, {}, 'no routes', ['Locations', 'What was scanned', 'Technology']],
  [code, {}, 'no routes', ['Locations', 'Technology']],
  [code, {}, 'routes', ['Locations', 'Technology', 'By route']],
  [campaign, {}, 'no routes', ['Locations', 'What was scanned', 'Technology']],
];

test.each(cases)('cards of %o, filtered by %o, with %s', (subject, filters, routes, titles) => {
  const groups = groupsOf(subject, { filters }, routes === 'routes');
  expect(groups.map(({ title }) => title)).toEqual(titles);
});

test('bots are no scans: they are not shown among filtered ones', () => {
  const tabsWith = (filters: Filters) =>
    groupsOf(code, { filters }, false).flatMap(({ tabs }) => tabs);
  expect(tabsWith({})).toContain('bot');
  expect(tabsWith({ country: 'DE' })).not.toContain('bot');
});

test('the open tab stands in the address; one that there is not is the first', () => {
  const [locations] = groupsOf(workspaceSubject, { filters: {} }, false);
  const tabOf = (text: string) => locations && tabIn(new URLSearchParams(text), locations);
  expect(['', 'locations=city', 'locations=map', 'locations=os'].map(tabOf)).toEqual([
    'country',
    'city',
    'map',
    'country',
  ]);
});

test('a campaign is not filtered by campaign, a code not by code', () => {
  expect(filtersOf.campaign).not.toContain('campaign');
  expect(filtersOf.code).not.toContain('code');
  expect(filtersOf.workspace).toContain('code');
  const [, scanned] = groupsOf(campaign, { filters: {} }, false);
  expect(scanned?.tabs).toEqual(['code', 'tag']);
});

/** The atlas and the table of its numbers: each knows every country of the other, so that no scan is lost on the map. */

const file = new URL(import.meta.resolve('world-atlas/countries-110m.json'));
const atlas: Atlas = JSON.parse(readFileSync(file, 'utf8'));
const world = worldOf(atlas);
const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
const nameOf = (letters: string): string => regions.of(letters) ?? '';
const countries = atlas.objects.countries.geometries;

test('every numbered country of the atlas has the letters of its name', () => {
  const numbers = countries.flatMap(({ id }) => (id === undefined ? [] : [String(id)]));
  expect(numbers.toSorted()).toEqual([...lettersOf.keys()].toSorted());
  const same = countries.filter(
    ({ id, properties }) =>
      nameOf(lettersOf.get(String(id)) ?? 'ZZ') === Reflect.get(Object(properties), 'name'),
  );
  // The others are shortened there: `Dem. Rep. Congo`.
  expect(same.length).toBe(155);
  const letters = [...lettersOf.values(), ...smallPlaces.map(({ key }) => key)];
  expect(new Set(letters).size).toBe(letters.length);
  expect(letters.filter((key) => nameOf(key) === '')).toEqual([]);
});

test('all lands are drawn but Antarctica, two without letters, and each within the plane', () => {
  expect(world.lands.length).toBe(countries.length - 1);
  expect(world.lands.filter(({ key }) => key === undefined).length).toBe(2);
  expect(world.lands.some(({ key }) => key === 'XK')).toBe(true);
  for (const { path, at } of [...world.lands, ...world.dots]) {
    expect(path).toMatch(/^M[\d.,]/);
    for (const part of at) expect(part >= 0 && part <= 1).toBe(true);
  }
});

test('the middle of France is in France, and Singapore is a dot on its place', () => {
  const at = (key: string) => [...world.lands, ...world.dots].find((one) => one.key === key)?.at;
  const [france, germany, spain] = [at('FR'), at('DE'), at('ES')];
  expect(france && spain && france[0] > spain[0] && france[1] < spain[1]).toBe(true);
  expect(france && germany && france[0] < germany[0]).toBe(true);
  const [singapore, indonesia, thailand] = [at('SG'), at('ID'), at('TH')];
  expect(singapore && indonesia && singapore[0] < indonesia[0]).toBe(true);
  expect(singapore && thailand && singapore[1] > thailand[1]).toBe(true);
});

/** Five steps of color: whole numbers from 1 to the most, each with a color of its own. */

test('even steps are as wide as each other, rising ones are round numbers', () => {
  expect(stepsOf(200, 'even')).toEqual([1, 41, 81, 121, 161]);
  expect(stepsOf(100_000, 'rising')).toEqual([1, 10, 100, 1_000, 10_000]);
  expect(stepsOf(9_000, 'rising')).toEqual([1, 6, 40, 200, 1_000]);
});

test('few scans have few steps, the most of them in the strongest color', () => {
  expect(stepsOf(0, 'even')).toEqual([]);
  expect(stepsOf(2, 'even')).toEqual([1, 2]);
  expect([0, 1, 2].map((scans) => stepClass(scans, stepsOf(2, 'even')))).toEqual([
    'step-0',
    'step-4',
    'step-5',
  ]);
  expect(stepClass(0, [])).toBe('step-0');
});

test('every number has a step that does not fall as numbers rise', () => {
  const spread = fc.constantFrom('even', 'rising');
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e12 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      spread,
      (most, part, of) => {
        const steps = stepsOf(most, of);
        const some = Math.max(1, Math.floor(most * part));
        expect(steps.length).toBeLessThanOrEqual(5);
        expect(steps.toSorted((a, b) => a - b)).toEqual(steps);
        expect(stepOf(some, steps)).toBeGreaterThanOrEqual(1);
        expect(stepOf(some, steps)).toBeLessThanOrEqual(stepOf(most, steps));
        expect(stepClass(most, steps)).toBe('step-5');
      },
    ),
  );
});

/** Where changes of a code and a campaign's begin and end stand in a series. */

const zone = 'America/New_York';
const pointsAt = (...starts: string[]) => starts.map((start) => ({ start, scans: 1 }));
const changed = (createdAt: string, after: unknown, id = 'qr_1'): ServiceEvent => ({
  id: `evt_${createdAt}`,
  event: 'qr.updated',
  createdAt,
  data: { id, after },
});
const momentsAt = (...times: string[]) =>
  times.map((time) => ({ atMs: Date.parse(time), text: time }));

test('a code has flags for its destination and its pauses, not for other changes or codes', () => {
  const moments = momentsOfCode('qr_1', [
    changed('2026-11-03T12:00:00Z', { paused: false }),
    changed('2026-11-02T12:00:00Z', { target: 'https://a.example', name: 'New' }),
    changed('2026-11-02T11:00:00Z', { target: 'https://b.example' }),
    changed('2026-11-02T10:00:00Z', { paused: true }),
    changed('2026-11-01T12:00:00Z', { name: 'Old' }),
    changed('2026-11-01T12:00:00Z', { paused: true }, 'qr_2'),
  ]);
  const days = pointsAt('2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z', '2026-11-03T00:00:00Z');
  expect([...flagsOn(days, moments, 'UTC', '2026-11-03')]).toEqual([
    [1, 'Paused, Destination changed'],
    [2, 'Resumed'],
  ]);
});

test('moments stand at the day of the zone, and outside the range not at all', () => {
  const days = pointsAt('2026-11-05T00:00:00-05:00', '2026-11-06T00:00:00-05:00');
  const moments = momentsAt(
    '2026-11-05T04:59:59Z',
    '2026-11-06T04:59:59Z',
    '2026-11-07T04:59:59Z',
    '2026-11-07T05:00:00Z',
  );
  expect([...flagsOn(days, moments, zone, '2026-11-06')]).toEqual([
    [0, '2026-11-06T04:59:59Z'],
    [1, '2026-11-07T04:59:59Z'],
  ]);
});

test('of the hour that comes twice, it is the right one', () => {
  const hours = pointsAt('2026-11-01T01:00:00-04:00', '2026-11-01T01:00:00-05:00');
  const moments = momentsAt('2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z');
  expect([...flagsOn(hours, moments, zone, '2026-11-01').keys()]).toEqual([0, 1]);
});

test('a campaign begins with its first day in UTC and ends with its last, once it has', () => {
  const schedule = { startDate: '2026-11-05', endDate: '2026-11-06' };
  const days = pointsAt(
    '2026-11-04T00:00:00-05:00',
    '2026-11-05T00:00:00-05:00',
    '2026-11-06T00:00:00-05:00',
  );
  const flags = (now: string) => {
    const moments = momentsOfCampaign(schedule, 'Campaign', Date.parse(now));
    return [...flagsOn(days, moments, zone, '2026-11-06')];
  };
  expect(flags('2026-11-04T23:59:59Z')).toEqual([]);
  expect(flags('2026-11-06T23:59:59Z')).toEqual([[0, 'Campaign began']]);
  expect(flags('2026-11-07T00:00:00Z')).toEqual([
    [0, 'Campaign began'],
    [2, 'Campaign ended'],
  ]);
});
