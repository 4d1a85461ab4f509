/** Which breakdowns there are, and which tab of each is open. */
import { expect, test } from 'vitest';
import { filtersOf, groupsOf, tabIn } from '../../../src/dashboard/analytics/state/groups.ts';
import type { Filters } from '../../../src/dashboard/analytics/state/filters.ts';
import { subjectOf, workspaceSubject } from '../../../src/dashboard/analytics/state/requests.ts';

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
