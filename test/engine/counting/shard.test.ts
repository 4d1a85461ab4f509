/**
 * Shards and their read side against a plain model: every journaled scan counts once, for codes, workspaces, unions, top
 * codes, raw scans, pages of events and a live stream, whatever crashes, fails and comes late.
 */
import { expect, it } from 'vitest';
import { dayMax, type DayRange } from '../../../src/model/day.ts';
import { isMissed, labelOfRoute } from '../../../src/model/routing/labels.ts';
import { positionId } from '../../../src/model/ids.ts';
import type { RawScanFilter, RawStep } from '../../../src/engine/analytics/raw-scans.ts';
import type { EventCursor } from '../../../src/engine/analytics/scan-events.ts';
import type { Subject } from '../../../src/engine/analytics/subject.ts';
import type { EngineHarness, ScanFact } from './engine-harness.ts';
import {
  actorsMax,
  baseDay,
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
  breakdowns,
  check,
  eventOf,
  isBot,
  isPerson,
  labelOf,
  routesOf,
  scansByCode,
  timeseriesOf,
  topOf,
  within,
} from './plain-model.ts';
import { runs } from '../../seconds/runs.ts';

const ranges: readonly DayRange[] = [
  { fromDay: baseDay, toDay: baseDay },
  { fromDay: baseDay - 1, toDay: baseDay + 2 },
  { fromDay: baseDay - 50, toDay: baseDay + 40 },
  { fromDay: baseDay + 1, toDay: baseDay + 400 },
];
/** To the year 9999, as the API allows: 2,000 months, too many to ask for at every step. */
const always: DayRange = { fromDay: 0, toDay: dayMax };
const codeNumbers = Array.from({ length: codes }, (_, index) => index + 1);

const ofCode = (facts: readonly ScanFact[], code: number): ScanFact[] =>
  facts.filter(({ codeNo }) => codeNo === code);
const ofWorkspace = (facts: readonly ScanFact[], workspace: number): ScanFact[] =>
  facts.filter(({ workspaceNo }) => workspaceNo === workspace);
const sumOf = (rows: ReadonlyArray<{ readonly scans: number }>): number =>
  rows.reduce((total, { scans }) => total + scans, 0);

/** Codes and workspaces, with what was journaled of each. */
const subjectsOf = (facts: readonly ScanFact[]): Array<[Subject, ScanFact[]]> => [
  ...codeNumbers.map((code): [Subject, ScanFact[]] => [{ code }, ofCode(facts, code)]),
  ...[1, 2, 3].map((workspace): [Subject, ScanFact[]] => [
    { workspace },
    ofWorkspace(facts, workspace),
  ]),
];

async function checkTotals(engine: EngineHarness, facts: readonly ScanFact[]): Promise<void> {
  const { analytics } = engine.queries;
  for (const code of codeNumbers) {
    check(analytics.lifetimeScans(code), ofCode(facts, code).filter(isPerson).length);
  }
  for (const [subject, own] of subjectsOf(facts)) {
    for (const range of ranges) {
      check(await analytics.totals(subject, range), analyticsOf(within(own, range)));
    }
  }
}

async function checkRoutes(
  { queries: { analytics } }: EngineHarness,
  code: number,
  range: DayRange,
  facts: readonly ScanFact[],
): Promise<void> {
  const own = hasLabels(code) ? labels : [];
  const rows = await analytics.breakdown({ code }, range, 'route', {
    nameOf: (route) => labelOfRoute(own, route),
  });
  check(rows, routesOf(facts, 'route'));
  check(sumOf(rows), facts.filter(isPerson).length);
}

async function checkDetails(engine: EngineHarness, facts: readonly ScanFact[]): Promise<void> {
  const { analytics } = engine.queries;
  const list = [3, 1, 7, 6, 99];
  const many = { codes: list };
  const some = facts.filter(({ codeNo }) => list.includes(codeNo));
  for (const [subject, own] of [...subjectsOf(facts), [many, some] as const]) {
    for (const range of ranges) {
      const { fromDay, toDay } = range;
      const counted = within(own, range);
      for (const by of breakdowns) {
        const shares = await analytics.breakdown(subject, range, by);
        check(shares, breakdownOf(counted, by));
        if (by !== 'bot') check(sumOf(shares), counted.filter(isPerson).length);
      }
      const days = await analytics.series(subject, range, 'day');
      check(days, timeseriesOf(counted, fromDay, toDay, 24));
      if (subject === many) continue;
      check(await analytics.breakdown(subject, range, 'missed'), routesOf(counted, 'missed'));
      if (toDay - fromDay > 10) continue;
      const hours = await analytics.series(subject, range, 'hour');
      check(hours, timeseriesOf(counted, fromDay, toDay, 1));
    }
  }
  for (const code of codeNumbers) {
    const all = ofCode(facts, code);
    check(await analytics.totals({ code }, always), analyticsOf(all));
    const labelled = all.filter((fact) => isPerson(fact) && fact.route !== 0);
    check(analytics.routesSeen(code), new Set(labelled.map(({ route }) => route)));
    for (const range of ranges) await checkRoutes(engine, code, range, within(all, range));
  }
  for (const range of ranges) {
    const all = within(facts, range);
    check(await analytics.totals(many, range), analyticsOf(within(some, range)));
    check(await analytics.scansByCode(many, range), scansByCode(all, list));
    await checkTopCodes(engine, ofWorkspace(all, 1), range);
  }
}

async function checkTopCodes(
  { queries }: EngineHarness,
  facts: readonly ScanFact[],
  range: DayRange,
): Promise<void> {
  const isListed = (codeNo: number): boolean => codeNo !== 4;
  for (const limit of [1, 2, 10]) {
    const wanted = topOf(scansByCode(facts, codeNumbers.filter(isListed)), limit);
    check(await queries.topCodes.find({ ...range, workspaceNo: 1, limit, isListed }), wanted);
  }
}

const rawId = ({ timeMs, journal, position }: ScanFact): string =>
  positionId('scn', timeMs, journal, position);

/** As a raw scan has it: bots may have had no redirect, too. */
const routeOf = (fact: ScanFact): string | null =>
  hasLabels(fact.codeNo) && !isMissed(fact.route ?? 0) ? labelOf(fact) : null;

/** Newest commit first; steps of any size neither lose nor repeat, and stop by themselves. */
function checkRaw(engine: EngineHarness, facts: readonly ScanFact[], limit: number): void {
  for (const bots of ['without', 'with'] as const) {
    for (const range of ranges) {
      for (const codeNo of codeNumbers) {
        const own = hasLabels(codeNo) ? labels : [];
        const filter: RawScanFilter = { codeNo, ...range, bots, labels: own };
        const wanted = within(facts, range).filter(
          (fact) => fact.codeNo === codeNo && (isPerson(fact) || (bots === 'with' && isBot(fact))),
        );
        const order = new Map(wanted.map((fact) => [rawId(fact), fact.commit]));
        const routes = new Map(wanted.map((fact) => [rawId(fact), routeOf(fact)]));
        const found: string[] = [];
        const { raw } = engine.queries;
        for (let at = raw.begin(filter); at !== undefined;) {
          const { scans, next }: RawStep = raw.step(filter, at, limit);
          found.push(...scans.map(({ id }) => id));
          for (const { id, route } of scans) check(route, routes.get(id));
          check(scans.length <= limit, true);
          at = next;
        }
        check(found.toSorted(), [...order.keys()].toSorted());
        const commits = found.map((id) => order.get(id)!);
        check(
          commits,
          commits.toSorted((a, b) => b - a),
        );
      }
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

/** Follows a workspace's events from a cursor, in steps, as a stream that was cut off after each does. */
function createConsumer(workspaceNo: number) {
  const seen: string[] = [];
  let cursor: EventCursor = { sequence: 1, entry: 0 };
  const follow = ({ queries }: EngineHarness, limit: number): void => {
    for (;;) {
      const step = queries.events.after(workspaceNo, cursor, limit);
      for (const one of step.events) {
        seen.push(JSON.stringify(one.event));
        ({ cursor } = one);
      }
      if (!step.hasMore) return;
      if (step.events.length === 0) ({ cursor } = step);
    }
  };
  return { workspaceNo, seen, follow };
}

function checkConsumer(
  { workspaceNo, seen }: ReturnType<typeof createConsumer>,
  facts: readonly ScanFact[],
): void {
  const wanted = ofWorkspace(facts, workspaceNo)
    .filter((fact) => isPerson(fact) && codeOf(fact.codeNo) !== undefined)
    .map((fact) => JSON.stringify(eventOf(fact, codeOf(fact.codeNo)!)));
  check(seen.toSorted(), wanted.toSorted());
}

it('counts every journaled scan once, whatever crashes and fails', async () => {
  await everyLife(runs(8), async (engine, steps, limit) => {
    const consumers = [createConsumer(1), createConsumer(2)] as const;
    const checkAll = async (facts: readonly ScanFact[]): Promise<void> => {
      await checkTotals(engine, facts);
      await checkDetails(engine, facts);
      checkRaw(engine, facts, limit);
      checkEvents(engine, facts, limit);
    };
    for (const step of steps) {
      await run(engine, step);
      await checkTotals(engine, engine.committed());
      consumers[0].follow(engine, limit);
    }
    checkRaw(engine, engine.committed(), limit);
    checkEvents(engine, engine.committed(), limit);
    engine.settle();
    expect(engine.committed().length).toBe(engine.facts.length);
    await checkAll(engine.facts);
    engine.startShards(2);
    // The same shards save again and again.
    for (const step of steps.filter(({ kind }) => kind === 'scan').slice(0, 3)) {
      await run(engine, step);
      engine.settle();
      for (const shard of [0, 1]) engine.checkpoint(shard);
    }
    await checkAll(engine.facts);
    expect(engine.shards[0]!.figures().actors).toBeLessThanOrEqual(actorsMax);
    for (const consumer of consumers) {
      consumer.follow(engine, limit);
      checkConsumer(consumer, engine.facts);
    }
  });
});
