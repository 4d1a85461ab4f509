/**
 * Days of any time zone, whatever the engine went through: zones that are set and changed between two scans, crashes at any
 * moment, old days without cuts. Every number equals a count of the plain list by what `Intl` shows.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatDay } from '../../../src/model/day.ts';
import { calendarOf } from '../../../src/model/zones/calendar.ts';
import type { LocalRange } from '../../../src/model/zones/local-range.ts';
import type { WorkspaceZone } from '../../../src/engine/counting/days/zone-cuts.ts';
import type { Subject } from '../../../src/engine/analytics/subject.ts';
import type { EngineHarness, ScanFact } from './engine-harness.ts';
import { baseDay, codes, run, step, withEngine, workspaceOf } from './engine-steps.ts';
import {
  analyticsOf,
  breakdownOf,
  byHourOfWeek,
  byPoint,
  isPerson,
  onDays,
  scansByCode,
  topOf,
} from './plain-model.ts';
import { runs } from '../../seconds/runs.ts';

/** Of every kind: whole hours both ways, half and quarter hours, summer of half an hour, and all that the runtime has. */
const zone = fc.oneof(
  fc.constantFrom(
    ...'UTC Europe/Berlin America/New_York America/St_Johns Asia/Kathmandu Asia/Kolkata'.split(' '),
    ...'Australia/Sydney Australia/Lord_Howe Pacific/Chatham Pacific/Apia'.split(' '),
  ),
  fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
);
const sinceDay = fc.constantFrom(-100, -1, 0, 1, 2).map((offset) => baseDay + offset);
const workspaceZone = (workspaceNo: number): fc.Arbitrary<WorkspaceZone> =>
  fc.record({ workspaceNo: fc.constant(workspaceNo), zone, sinceDay, before: zone });
const zones = fc.tuple(workspaceZone(1), workspaceZone(2));
const lifeStep = fc.oneof(
  { weight: 12, arbitrary: step },
  { weight: 1, arbitrary: zones.map((all) => ({ kind: 'zones' as const, all })) },
);
const question = fc.record({
  zone,
  // About the days that most scans are on.
  from: fc.constantFrom(-2, -1, 0, 0, 1, 1, -7, -41, -40, -45, 31),
  days: fc.constantFrom(1, 1, 1, 2, 3, 7, 60),
});
type Question = typeof question extends fc.Arbitrary<infer T> ? T : never;

function rangeOf({ zone: name, from, days }: Question): LocalRange {
  const fromDay = baseDay + from;
  return { fromDay, toDay: fromDay + days - 1, calendar: calendarOf(name)! };
}

const subjects: ReadonlyArray<readonly [Subject, (fact: ScanFact) => boolean]> = [
  [{ code: 1 }, ({ codeNo }) => codeNo === 1],
  [{ code: 5 }, ({ codeNo }) => codeNo === 5],
  [{ codes: [2, 6, 7] }, ({ codeNo }) => [2, 6, 7].includes(codeNo)],
  [{ workspace: 1 }, ({ workspaceNo }) => workspaceNo === 1],
  [{ workspace: 2 }, ({ workspaceNo }) => workspaceNo === 2],
];

async function checkAnswers(engine: EngineHarness, asked: Question): Promise<void> {
  const range = rangeOf(asked);
  const from = formatDay(range.fromDay);
  const to = formatDay(range.toDay);
  const within = onDays(engine.facts, asked.zone, from, to);
  for (const [subject, isOf] of subjects) {
    await checkSubject(engine, subject, range, within.filter(isOf));
  }
  await checkTopCodes(engine, range, within);
}

async function checkSubject(
  { queries: { analytics } }: EngineHarness,
  subject: Subject,
  range: LocalRange,
  facts: readonly ScanFact[],
): Promise<void> {
  const { zone: name } = range.calendar!;
  expect(await analytics.totals(subject, range)).toEqual(analyticsOf(facts));
  for (const by of ['os', 'device', 'referer', 'bot'] as const) {
    expect(await analytics.breakdown(subject, range, by)).toEqual(breakdownOf(facts, by));
  }
  const points = await analytics.series(subject, range, 'day');
  const found = new Map(points.map(({ start, scans }) => [start.slice(0, 10), scans]));
  const wanted = byPoint(facts, name, 'day');
  expect(new Map([...found].filter(([, scans]) => scans > 0))).toEqual(wanted);
  const hours = await analytics.breakdown(subject, range, 'hour_of_week');
  expect(hours).toHaveLength(168);
  const seen = hours.filter(({ scans }) => scans > 0);
  expect(seen.sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual(byHourOfWeek(facts, name));
  for (const interval of ['week', 'month'] as const) {
    const coarse = await analytics.series(subject, range, interval);
    const sum = coarse.reduce((total, { scans }) => total + scans, 0);
    expect(sum).toBe(facts.filter(isPerson).length);
  }
  if (range.toDay - range.fromDay >= 7) return;
  const quarters = await analytics.series(subject, range, 'quarter_hour');
  const shown = new Map<string, number>();
  for (const { start, scans } of quarters) {
    const key = start.slice(0, 16);
    if (scans > 0) shown.set(key, (shown.get(key) ?? 0) + scans);
  }
  expect(shown).toEqual(byPoint(facts, name, 'quarter_hour'));
}

async function checkTopCodes(
  { queries: { analytics, topCodes } }: EngineHarness,
  range: LocalRange,
  facts: readonly ScanFact[],
): Promise<void> {
  const numbers = Array.from({ length: codes }, (_, at) => at + 1);
  const wanted = scansByCode(facts, numbers);
  expect(await analytics.scansByCode({ codes: numbers }, range)).toEqual(wanted);
  for (const workspaceNo of [1, 2]) {
    const own = topOf(wanted.filter(({ codeNo }) => workspaceOf(codeNo) === workspaceNo));
    const request = { ...range, workspaceNo, limit: 10, isListed: () => true };
    expect(await topCodes.find(request)).toEqual(own);
  }
}

it('equal a count of the plain list, in every zone, after any life of the engine', async () => {
  const property = fc.asyncProperty(
    zones,
    fc.array(lifeStep, { minLength: 10, maxLength: 50, size: 'max' }),
    fc.integer({ min: 1, max: 3 }),
    fc.array(question, { minLength: 1, maxLength: 4 }),
    async (first, steps, shards, questions) => {
      const live = async (engine: EngineHarness): Promise<void> => {
        for (const one of steps) {
          if (one.kind === 'zones') engine.setZones(one.all);
          else await run(engine, one);
        }
        engine.settle();
        for (const asked of questions) await checkAnswers(engine, asked);
        engine.startShards(2);
        engine.settle();
        for (let shard = 0; shard < 2; shard++) engine.checkpoint(shard);
        for (const asked of questions) await checkAnswers(engine, asked);
      };
      await withEngine(shards, live, { zones: first });
    },
  );
  await fc.assert(property, { numRuns: runs(4) });
}, 180_000);

it('of a zone that was set before the first scan need no raw scans', async () => {
  const raw = { run: () => Promise.reject(new Error('raw scans were asked for')) };
  const property = fc.asyncProperty(
    zone,
    fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }),
    fc.array(question, { minLength: 1, maxLength: 3 }),
    async (name, steps, questions) => {
      const of = { zone: name, sinceDay: 0, before: name };
      const own = [1, 2].map((workspaceNo) => ({ workspaceNo, ...of }));
      const live = async (engine: EngineHarness): Promise<void> => {
        for (const one of steps) await run(engine, one);
        engine.settle();
        for (const asked of questions) await checkAnswers(engine, { ...asked, zone: name });
      };
      await withEngine(2, live, { rawRetentionDays: 1, zones: own, raw });
    },
  );
  await fc.assert(property, { numRuns: runs(3) });
}, 180_000);
