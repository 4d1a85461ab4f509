/**
 * Shards and report against a plain model: whatever crashes, fails, tears or comes late, every journaled
 * scan is counted exactly once (invariants 1, 3 and 7 of the engine).
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import type { BreakdownBy } from '../../src/scans/report.ts';
import { EngineRig, type FailPoint, type ScanFact, type ScanInput } from './engine-rig.ts';
import {
  analyticsOf,
  breakdownOf,
  eventOf,
  inRange,
  isPerson,
  refererHosts,
  timeseriesOf,
} from './plain-model.ts';

const baseDay = 20_730;
const codes = 7;
const journals = 3;
const qrIdOf = (codeNo: number): string | undefined => (codeNo === 7 ? undefined : `qr_${codeNo}`);
const workspaceOf = (codeNo: number): number => (codeNo % 2) + 1;
const breakdowns: readonly BreakdownBy[] = [
  'country',
  'city',
  'os',
  'browser',
  'device',
  'referer',
  'hour',
  'bot',
];
const agents = [
  '',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:123.0) Gecko/20100101 Firefox/123.0',
  'Googlebot/2.1 (+http://www.google.com/bot.html)',
];

type Step =
  | {
      kind: 'scan';
      journal: number;
      day: number;
      ms: number;
      scans: Array<Omit<ScanInput, 'workspaceNo'>>;
    }
  | { kind: 'turn'; shard: number }
  | { kind: 'checkpoint'; shard: number }
  | { kind: 'crash'; shards: number }
  | { kind: 'fail'; after: number; point: FailPoint }
  | { kind: 'heal' }
  | { kind: 'tear'; journal: number; garbage: Uint8Array }
  | { kind: 'trim' };

const address = fc.oneof(
  fc.integer({ min: 0, max: 3 }).map((last) => Uint8Array.of(192, 0, 2, last)),
  fc
    .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 255 }))
    .map(([net, host]) =>
      Uint8Array.from([32, 1, 13, 184, 0, 0, 0, net, 0, 0, 0, 0, 0, 0, 0, host]),
    ),
);
const scan = fc.record({
  codeNo: fc.integer({ min: 1, max: codes }),
  agent: fc.constantFrom(...agents),
  referer: fc.constantFrom(...Object.keys(refererHosts)),
  address,
  isPrefetch: fc.integer({ min: 0, max: 9 }).map((value) => value === 0),
});
/** Mostly today; late, and as clocks that step a month, a year or ten years see it. */
const day = fc
  .constantFrom(0, 0, 0, 0, 0, 1, 1, -1, 2, 31, -40, 366, 3_650)
  .map((offset) => baseDay + offset);
const shard = fc.integer({ min: 0, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('scan' as const),
      journal: fc.integer({ min: 0, max: journals - 1 }),
      day,
      ms: fc.integer({ min: 0, max: dayMs - 1 }),
      scans: fc.array(scan, { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('turn' as const), shard }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('checkpoint' as const), shard }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      shards: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      after: fc.integer({ min: 0, max: 3 }),
      point: fc.constantFrom<FailPoint>('before', 'after'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('heal' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('tear' as const),
      journal: fc.integer({ min: 0, max: journals - 1 }),
      garbage: fc.uint8Array({ minLength: 1, maxLength: 80 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('trim' as const) }) },
);

async function run(rig: EngineRig, step: Step): Promise<void> {
  switch (step.kind) {
    case 'scan':
      return rig.scan(
        step.journal,
        step.day * dayMs + step.ms,
        step.scans.map((scan) => ({ ...scan, workspaceNo: workspaceOf(scan.codeNo) })),
      );
    case 'turn':
      return void rig.turn(step.shard);
    case 'checkpoint':
      return rig.checkpoint(step.shard);
    case 'crash':
      return rig.startShards(step.shards);
    case 'fail':
      rig.failAfter = step.after;
      rig.failPoint = step.point;
      return undefined;
    case 'heal':
      rig.failAfter = Number.MAX_SAFE_INTEGER;
      return undefined;
    case 'tear':
      return rig.tearJournal(step.journal, step.garbage);
    case 'trim':
      return rig.trimJournals();
  }
}

const ranges: ReadonlyArray<readonly [number, number]> = [
  [baseDay, baseDay],
  [baseDay - 1, baseDay + 2],
  [baseDay - 50, baseDay + 40],
  [baseDay + 1, baseDay + 400],
];
/** To the year 9999, as the API allows: 2,000 months, too many to ask for at every step. */
const always = [0, 2_932_896] as const;

/** `expect` costs 0.1 ms even where all is well, and here it is asked 100,000 times. */
function check(found: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
}

function checkNumbers(rig: EngineRig, facts: readonly ScanFact[]): void {
  for (let codeNo = 1; codeNo <= codes; codeNo++) {
    const people = facts.filter((fact) => fact.codeNo === codeNo && isPerson(fact));
    check(rig.report.lifetimeScans(codeNo), people.length);
    for (const [from, to] of ranges) {
      const found = rig.report.analytics(codeNo, from, to);
      check(found, analyticsOf(inRange(facts, codeNo, from, to)));
    }
  }
}

function checkDetails(rig: EngineRig, facts: readonly ScanFact[]): void {
  for (let codeNo = 1; codeNo <= codes; codeNo++) {
    const all = facts.filter((fact) => fact.codeNo === codeNo);
    check(rig.report.analytics(codeNo, ...always), analyticsOf(all));
    for (const [from, to] of ranges) {
      const within = inRange(facts, codeNo, from, to);
      for (const by of breakdowns) {
        check(rig.report.breakdown(codeNo, from, to, by), breakdownOf(within, by));
      }
      if (to - from > 10) continue;
      const hours = rig.report.timeseries(codeNo, from, to, 'hour');
      check(hours, timeseriesOf(within, from, to, 1));
      const days = rig.report.timeseries(codeNo, from, to, 'day');
      check(days, timeseriesOf(within, from, to, 24));
    }
  }
}

/** Newest commit first, newest time first in it; pages of any size neither lose nor repeat. */
function checkEvents(rig: EngineRig, facts: readonly ScanFact[], limit: number): void {
  for (const workspaceNo of [1, 2]) {
    const wanted = facts.filter(
      (fact) =>
        fact.workspaceNo === workspaceNo && isPerson(fact) && qrIdOf(fact.codeNo) !== undefined,
    );
    const byId = new Map(
      wanted.map((fact) => {
        const event = eventOf(fact, qrIdOf(fact.codeNo)!);
        return [event.id, { event, fact }];
      }),
    );
    expect(byId.size).toBe(wanted.length);
    let before: string | undefined;
    let last: ScanFact | undefined;
    let seen = 0;
    do {
      const page = rig.report.events(workspaceNo, before, limit);
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

it(
  'counts every journaled scan once, whatever crashes and fails',
  { timeout: 120_000 },
  async () => {
    const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });
    const property = fc.asyncProperty(
      steps,
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (steps, shards, limit) => {
        const rig = new EngineRig({
          journals,
          segmentBytesMax: 700,
          actorsMax: 4,
          rawRetentionDays: 40_000,
          codeIdOf: qrIdOf,
        });
        rig.nowMs = baseDay * dayMs;
        try {
          rig.startShards(shards);
          for (const step of steps) {
            await run(rig, step);
            checkNumbers(rig, rig.committed());
          }
          checkEvents(rig, rig.committed(), limit);
          rig.settle();
          expect(rig.committed().length).toBe(rig.facts.length);
          checkNumbers(rig, rig.facts);
          rig.startShards(2);
          rig.settle();
          checkNumbers(rig, rig.facts);
          checkDetails(rig, rig.facts);
          checkEvents(rig, rig.facts, limit);
        } finally {
          await rig.close();
        }
      },
    );
    await fc.assert(property, { numRuns: 30 });
  },
);
