/** Shards and queries of codes against a plain model: every journaled scan counts once. */
import { expect, it } from 'vitest';
import { dayMax, type DayRange } from '../../src/model/day.ts';
import { labelOfRoute } from '../../src/model/routing/labels.ts';
import type { EngineHarness, ScanFact } from './engine-harness.ts';
import {
  baseDay,
  breakdowns,
  codeOf,
  codes,
  everyLife,
  hasLabels,
  labels,
  run,
} from './engine-steps.ts';
import {
  analyticsOf,
  breakdownOf,
  check,
  eventOf,
  inRange,
  isPerson,
  routesOf,
  timeseriesOf,
} from './plain-model.ts';
import { runs } from '../seconds/runs.ts';

const ranges: readonly DayRange[] = [
  { fromDay: baseDay, toDay: baseDay },
  { fromDay: baseDay - 1, toDay: baseDay + 2 },
  { fromDay: baseDay - 50, toDay: baseDay + 40 },
  { fromDay: baseDay + 1, toDay: baseDay + 400 },
];
/** To the year 9999, as the API allows: 2,000 months, too many to ask for at every step. */
const always: DayRange = { fromDay: 0, toDay: dayMax };

async function checkNumbers(engine: EngineHarness, facts: readonly ScanFact[]): Promise<void> {
  const { analytics } = engine.queries;
  for (let code = 1; code <= codes; code++) {
    const people = facts.filter((fact) => fact.codeNo === code && isPerson(fact));
    check(analytics.lifetimeScans(code), people.length);
    for (const range of ranges) {
      check(await analytics.totals({ code }, range), analyticsOf(inRange(facts, code, range)));
    }
  }
}

async function checkRoutes(
  { queries: { analytics } }: EngineHarness,
  code: number,
  range: DayRange,
  within: readonly ScanFact[],
): Promise<void> {
  const own = hasLabels(code) ? labels : [];
  const rows = await analytics.breakdown({ code }, range, 'route', {
    nameOf: (route) => labelOfRoute(own, route),
  });
  check(rows, routesOf(within, 'route'));
  const sum = rows.reduce((total, { scans }) => total + scans, 0);
  check(sum, within.filter(isPerson).length);
  check(await analytics.breakdown({ code }, range, 'missed'), routesOf(within, 'missed'));
}

async function checkDetails(engine: EngineHarness, facts: readonly ScanFact[]): Promise<void> {
  const { analytics } = engine.queries;
  for (let code = 1; code <= codes; code++) {
    const all = facts.filter((fact) => fact.codeNo === code);
    check(await analytics.totals({ code }, always), analyticsOf(all));
    const labelled = all.filter((fact) => isPerson(fact) && fact.route !== 0);
    check(analytics.routesSeen(code), new Set(labelled.map(({ route }) => route)));
    for (const range of ranges) {
      const { fromDay, toDay } = range;
      const within = inRange(facts, code, range);
      for (const by of breakdowns) {
        check(await analytics.breakdown({ code }, range, by), breakdownOf(within, by));
      }
      await checkRoutes(engine, code, range, within);
      if (toDay - fromDay > 10) continue;
      const hours = await analytics.series({ code }, range, 'hour');
      check(hours, timeseriesOf(within, fromDay, toDay, 1));
      const days = await analytics.series({ code }, range, 'day');
      check(days, timeseriesOf(within, fromDay, toDay, 24));
    }
  }
}

/** Newest commit first, newest time first in it; pages of any size neither lose nor repeat. */
function checkEvents(engine: EngineHarness, facts: readonly ScanFact[], limit: number): void {
  for (const workspaceNo of [1, 2]) {
    const wanted = facts.filter(
      (fact) =>
        fact.workspaceNo === workspaceNo && isPerson(fact) && codeOf(fact.codeNo) !== undefined,
    );
    const byId = new Map(
      wanted.map((fact) => {
        const event = eventOf(fact, codeOf(fact.codeNo)!);
        return [event.id, { event, fact }];
      }),
    );
    expect(byId.size).toBe(wanted.length);
    let before: string | undefined;
    let last: ScanFact | undefined;
    let seen = 0;
    do {
      const page = engine.queries.events.page(workspaceNo, before, limit);
      check(page.data.length <= limit, true);
      for (const event of page.data) {
        const known = byId.get(event.id);
        check(event, known?.event);
        const { fact } = known!;
        if (last !== undefined) {
          const order = last.commit - fact.commit || last.timeMs - fact.timeMs;
          check(order >= 0, true);
        }
        last = fact;
        seen++;
      }
      before = page.before;
    } while (before !== undefined);
    expect(seen).toBe(wanted.length);
  }
}

it('counts every journaled scan once, whatever crashes and fails', async () => {
  await everyLife(runs(8), async (engine, steps, limit) => {
    for (const step of steps) {
      await run(engine, step);
      await checkNumbers(engine, engine.committed());
    }
    checkEvents(engine, engine.committed(), limit);
    engine.settle();
    expect(engine.committed().length).toBe(engine.facts.length);
    await checkNumbers(engine, engine.facts);
    engine.startShards(2);
    engine.settle();
    await checkNumbers(engine, engine.facts);
    await checkDetails(engine, engine.facts);
    checkEvents(engine, engine.facts, limit);
  });
});
