/** A rule that is called unreachable never wins: compared with the rules followed one by one, over random requests. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { unreachableRules } from '../../../src/product/codes/routing/unreachable.ts';
import type { RouteConditions, RouteRule, TimeWindow } from '../../../src/model/routing/routing.ts';
import { weekdays } from '../../../src/model/day.ts';
import { routingOf } from '../../engine/links/routed.ts';
import { naiveRoute, type NaiveScan } from '../../engine/routes/naive.ts';

const ruleOf = (conditions: RouteConditions, at: number): RouteRule => ({
  label: `r${at}`,
  if: conditions,
  then: { target: 'https://example.com/' },
});
const pathsOf = (...conditions: readonly RouteConditions[]): string[] =>
  unreachableRules(conditions.map(ruleOf)).map(({ path }) => path);

const some = <const T>(...values: readonly T[]) => fc.subarray([...values], { minLength: 1 });
const hourText = (hour: number): string => `${String(hour).padStart(2, '0')}:00`;
const yearText = (year: number): string => `${year}-01-01T00:00:00.000Z`;
const timeWindow = fc.record(
  {
    days: some(...weekdays),
    from: fc.nat(23).map(hourText),
    to: fc.integer({ min: 0, max: 24 }).map(hourText),
    timezone: fc.constant('UTC'),
  },
  { requiredKeys: ['timezone'] },
);
const dateWindow = fc.record(
  { from: fc.integer({ min: 2026, max: 2029 }).map(yearText), to: fc.constant(yearText(2030)) },
  { requiredKeys: ['from'] },
);
const condition: fc.Arbitrary<RouteConditions> = fc.oneof(
  fc.record({ os: some('iOS', 'Android', 'Windows') }),
  fc.record({ country: some('DE', 'AT', 'FR') }),
  fc.record({ language: some('de', 'DE', 'fr') }),
  fc.record({ time: timeWindow }),
  fc.record({ date: dateWindow }),
  fc.record({
    query: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('1', '*'), { minKeys: 1 }),
  }),
);
const conditions = fc.tuple(condition, condition).map(([one, other]) => ({ ...one, ...other }));
const moment = fc.record({ year: fc.integer({ min: 2025, max: 2031 }), hour: fc.nat(365 * 24) });
const visit: fc.Arbitrary<NaiveScan> = fc.record({
  nowMs: moment.map(({ year, hour }) => Date.UTC(year, 0, 1, hour)),
  device: fc.constant('mobile'),
  os: fc.constantFrom('iOS', 'Android', 'Windows'),
  browser: fc.constant('Safari'),
  country: fc.constantFrom('DE', 'AT', 'FR'),
  language: fc.constantFrom('de', 'fr'),
  query: fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('1', '2')), {
    selector: ([name]) => name,
  }),
  point: fc.constant(0),
});

test('what is called unreachable never wins', () => {
  let found = 0;
  fc.assert(
    fc.property(
      fc.array(conditions, { minLength: 2, maxLength: 5 }),
      fc.array(visit, { minLength: 20, maxLength: 20 }),
      (given, visits) => {
        const unreachable = new Set(pathsOf(...given));
        found += unreachable.size;
        const code = { target: '', routing: routingOf({ rules: given.map(ruleOf) }) };
        for (const scan of visits) {
          const { label } = naiveRoute(code, scan);
          expect(unreachable).not.toContain(`rules.${label.slice(1)}`);
        }
      },
    ),
    { numRuns: 200 },
  );
  // About 30 as a rule; what random rules have varies by a third.
  expect(found).toBeGreaterThan(5);
});

const openHours: TimeWindow = {
  days: ['mon', 'tue'],
  from: '09:00',
  to: '17:00',
  timezone: 'Europe/Berlin',
};

test.each<readonly [what: string, earlier: RouteConditions, later: RouteConditions]>([
  ['the same', { os: ['iOS'] }, { os: ['iOS'] }],
  [
    'fewer values and more conditions',
    { os: ['iOS', 'macOS'] },
    { os: ['macOS'], country: ['DE'] },
  ],
  ['the same language', { language: ['pt-BR'] }, { language: ['pt-br'] }],
  ['fewer hours', { time: openHours }, { time: { ...openHours, days: ['tue'], from: '10:00' } }],
  [
    'the same hours over midnight',
    { time: { ...openHours, from: '20:00', to: '04:00' } },
    { time: { ...openHours, from: '20:00', to: '04:00', days: ['mon'] } },
  ],
  [
    'fewer days',
    { date: { from: yearText(2026) } },
    { date: { from: yearText(2026), to: yearText(2027) } },
  ],
  ['a value of any', { query: { a: '*' } }, { query: { a: '1', b: '2' } }],
])('a later rule with %s is found', (_, earlier, later) => {
  expect(pathsOf(earlier, later)).toEqual(['rules.1']);
  expect(pathsOf({ country: ['FR'] }, earlier, { os: ['Linux'] }, later)).toEqual(['rules.3']);
});

test('a later rule in another time zone may win', () => {
  const vienna: TimeWindow = { ...openHours, timezone: 'Europe/Vienna' };
  expect(pathsOf({ time: openHours }, { time: vienna })).toEqual([]);
});
