/**
 * The read side against a plain model: workspaces, unions, top codes, raw scans and a live stream, whatever crashes, fails
 * and comes late. Every breakdown of a range sums to its total.
 */
import { expect, it } from 'vitest';
import { dayMs, type DayRange } from '../../src/model/day.ts';
import { isMissed, missedRoutes } from '../../src/model/routing/labels.ts';
import { positionId } from '../../src/model/ids.ts';
import type { RawScanFilter, RawStep } from '../../src/scans/query/raw-scans.ts';
import type { EventCursor } from '../../src/scans/query/scan-events.ts';
import { type EngineHarness, type ScanFact, scanOf } from './engine-harness.ts';
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
import { openEngine } from './open-engine.ts';
import {
  analyticsOf,
  breakdownOf,
  check,
  eventOf,
  isBot,
  isPerson,
  labelOf,
  timeseriesOf,
} from './plain-model.ts';
import { runs } from '../seconds/runs.ts';

const ranges: ReadonlyArray<readonly [number, number]> = [
  [baseDay, baseDay],
  [baseDay - 50, baseDay + 40],
  [baseDay + 1, baseDay + 400],
];

const within = (facts: readonly ScanFact[], from: number, to: number): ScanFact[] =>
  facts.filter(({ timeMs }) => timeMs >= from * dayMs && timeMs < (to + 1) * dayMs);
const ofWorkspace = (facts: readonly ScanFact[], workspaceNo: number): ScanFact[] =>
  facts.filter((fact) => fact.workspaceNo === workspaceNo);

async function checkWorkspaces(
  { queries }: EngineHarness,
  facts: readonly ScanFact[],
): Promise<void> {
  for (const workspaceNo of [1, 2, 3]) {
    for (const [from, to] of ranges) {
      const own = within(ofWorkspace(facts, workspaceNo), from, to);
      const range = { fromDay: from, toDay: to };
      const found = await queries.analytics.totals({ workspace: workspaceNo }, range);
      check(found, analyticsOf(own));
      const { ios, android, other } = found.devices;
      check(ios + android + other, found.totalScans);
    }
  }
}

async function checkDetails(engine: EngineHarness, facts: readonly ScanFact[]): Promise<void> {
  const { queries } = engine;
  const list = [3, 1, 7, 6, 99];
  const { analytics } = queries;
  const [one, many] = [{ workspace: 1 }, { codes: list }];
  for (const [from, to] of ranges) {
    const range = { fromDay: from, toDay: to };
    const all = within(facts, from, to);
    const own = ofWorkspace(all, 1);
    const some = all.filter(({ codeNo }) => list.includes(codeNo));
    check(await analytics.totals(many, range), analyticsOf(some));
    for (const by of breakdowns) {
      check(await analytics.breakdown(one, range, by), breakdownOf(own, by));
      const shares = await analytics.breakdown(many, range, by);
      check(shares, breakdownOf(some, by));
      const sum = shares.reduce((total, { scans }) => total + scans, 0);
      if (by !== 'bot') check(sum, some.filter(isPerson).length);
    }
    check(await analytics.series(one, range, 'day'), timeseriesOf(own, from, to, 24));
    check(await analytics.series(many, range, 'day'), timeseriesOf(some, from, to, 24));
    const counts = list
      .map((codeNo) => ({ codeNo, scans: scansOf(all, codeNo) }))
      .filter(({ scans }) => scans > 0);
    check(await analytics.scansByCode(many, range), counts);
    await checkTopCodes(engine, own, range);
  }
}

const scansOf = (facts: readonly ScanFact[], codeNo: number): number =>
  facts.filter((fact) => fact.codeNo === codeNo && isPerson(fact)).length;

async function checkTopCodes(
  { queries }: EngineHarness,
  facts: readonly ScanFact[],
  range: DayRange,
): Promise<void> {
  const isListed = (codeNo: number): boolean => codeNo !== 4;
  for (const limit of [1, 2, 10]) {
    const wanted = Array.from({ length: codes }, (_, index) => index + 1)
      .map((codeNo) => ({ codeNo, scans: scansOf(facts, codeNo) }))
      .filter(({ codeNo, scans }) => scans > 0 && isListed(codeNo))
      .sort((a, b) => b.scans - a.scans || a.codeNo - b.codeNo)
      .slice(0, limit);
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
    for (const [fromDay, toDay] of ranges) {
      for (let codeNo = 1; codeNo <= codes; codeNo++) {
        const own = hasLabels(codeNo) ? labels : [];
        const filter: RawScanFilter = { codeNo, fromDay, toDay, bots, labels: own };
        const wanted = within(facts, fromDay, toDay).filter(
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

/** Follows a workspace's events from a cursor, in steps, as a stream that was cut off after each does. */
class Consumer {
  readonly #workspaceNo: number;
  readonly seen: string[] = [];
  cursor: EventCursor = { sequence: 1, entry: 0 };

  constructor(workspaceNo: number) {
    this.#workspaceNo = workspaceNo;
  }

  follow({ queries }: EngineHarness, limit: number): void {
    for (;;) {
      const step = queries.events.after(this.#workspaceNo, this.cursor, limit);
      for (const { event, cursor } of step.events) {
        this.seen.push(JSON.stringify(event));
        this.cursor = cursor;
      }
      if (!step.hasMore) return;
      if (step.events.length === 0) this.cursor = step.cursor;
    }
  }
}

function checkConsumer(consumer: Consumer, facts: readonly ScanFact[], workspaceNo: number): void {
  const wanted = ofWorkspace(facts, workspaceNo)
    .filter((fact) => isPerson(fact) && codeOf(fact.codeNo) !== undefined)
    .map((fact) => JSON.stringify(eventOf(fact, codeOf(fact.codeNo)!)));
  check(consumer.seen.toSorted(), wanted.toSorted());
}

it('knows workspaces, unions, raw scans and events', async () => {
  await everyLife(runs(6), async (engine, steps, limit) => {
    const consumers = [new Consumer(1), new Consumer(2)] as const;
    for (const step of steps) {
      await run(engine, step);
      await checkWorkspaces(engine, engine.committed());
      consumers[0].follow(engine, limit);
    }
    checkRaw(engine, engine.committed(), limit);
    engine.settle();
    await checkDetails(engine, engine.facts);
    engine.startShards(2);
    engine.settle();
    engine.checkpoint(0);
    await checkWorkspaces(engine, engine.facts);
    await checkDetails(engine, engine.facts);
    checkRaw(engine, engine.facts, limit);
    for (const [index, consumer] of consumers.entries()) {
      consumer.follow(engine, limit);
      checkConsumer(consumer, engine.facts, index + 1);
    }
  });
});

it('counts once what a failed checkpoint had added', async () => {
  const engine = openEngine();
  const day = { fromDay: baseDay, toDay: baseDay };
  const { analytics, topCodes } = engine.queries;
  const counts = async (): Promise<number[]> => {
    const top = await topCodes.find({ ...day, workspaceNo: 1, limit: 10, isListed: () => true });
    return [...top.map(({ scans }) => scans), await analytics.scans({ workspace: 1 }, day)];
  };
  for (const failPoint of ['after', 'before'] as const) {
    engine.failAfter = Number.MAX_SAFE_INTEGER;
    engine.scan(0, baseDay * dayMs, [scanOf(1), scanOf(1), scanOf(1)]);
    engine.cycle(0);
    engine.failAfter = 0;
    engine.failPoint = failPoint;
    engine.checkpoint(0);
  }
  expect(engine.failures).toBe(2);
  expect(await counts()).toEqual([6, 6]);
  engine.failAfter = Number.MAX_SAFE_INTEGER;
  engine.checkpoint(0);
  expect(await counts()).toEqual([6, 6]);
  engine.startShards(1);
  expect(await counts()).toEqual([6, 6]);
});

it('keeps the chain of raw scans where a checkpoint comes while a window waits for its commit', () => {
  const engine = openEngine({ actorsMax: 2 });
  const scan = (second: number, ...codeNos: number[]): void => {
    const inputs = codeNos.map((codeNo) => scanOf(codeNo));
    engine.scan(0, baseDay * dayMs + second * 1_000, inputs);
  };
  scan(1, 1, 2);
  engine.cycle(0);
  scan(2, 3);
  engine.cycle(0);
  scan(3, 1);
  engine.failAfter = 0;
  engine.cycle(0);
  expect(engine.failures).toBe(1);
  engine.failAfter = Number.MAX_SAFE_INTEGER;
  engine.checkpoint(0);
  engine.cycle(0);
  scan(4, 1);
  engine.settle();
  checkRaw(engine, engine.facts, 100);
});

it('ends the chain of raw scans where retention has deleted it, and reports that events are gone', async () => {
  const engine = openEngine({ rawRetentionDays: 2 });
  const { raw, events, analytics } = engine.queries;
  const cursor = events.newest();
  expect(events.isPast(cursor)).toBe(false);
  for (let day = baseDay; day < baseDay + 6; day++) {
    engine.nowMs = day * dayMs;
    engine.scan(0, engine.nowMs, [scanOf(1), scanOf(1)]);
    engine.cycle(0);
    engine.checkpoint(0);
  }
  const filter = { codeNo: 1, fromDay: baseDay, toDay: baseDay + 9, bots: 'without' } as const;
  const { scans } = raw.step(filter, raw.begin(filter)!, 100);
  const kept = [5, 5, 4, 4, 3, 3].map((day) => new Date((baseDay + day) * dayMs).toISOString());
  expect(scans.map(({ scannedAt }) => scannedAt)).toEqual(kept);
  expect(await analytics.scans({ code: 1 }, filter)).toBe(12);
  expect(events.isPast(cursor)).toBe(true);
  expect(events.isPast(events.newest())).toBe(false);
});

it('counts scans, bots and visits without a redirect apart in the figures of a shard', () => {
  const engine = openEngine();
  const agent = 'Googlebot/2.1 (+http://www.google.com/bot.html)';
  const paused = scanOf(5, { route: missedRoutes.paused });
  engine.scan(0, engine.nowMs, [scanOf(5), paused, paused, scanOf(5, { ...paused, agent })]);
  engine.settle();
  expect(engine.shards[0]!.figures()).toMatchObject({ scans: 1, bots: 1, missed: 2 });
});
