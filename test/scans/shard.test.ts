/**
 * Shards and report against a plain model: whatever crashes, fails, tears or comes late, every journaled
 * scan is counted exactly once (invariants 1, 3 and 7 of the engine).
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { EngineHarness, type ScanFact } from './engine-harness.ts';
import { baseDay, breakdowns, codes, journals, qrIdOf, run, step } from './engine-steps.ts';
import {
  analyticsOf,
  breakdownOf,
  eventOf,
  inRange,
  isPerson,
  timeseriesOf,
} from './plain-model.ts';

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

function checkNumbers(rig: EngineHarness, facts: readonly ScanFact[]): void {
  for (let codeNo = 1; codeNo <= codes; codeNo++) {
    const people = facts.filter((fact) => fact.codeNo === codeNo && isPerson(fact));
    check(rig.report.lifetimeScans(codeNo), people.length);
    for (const [from, to] of ranges) {
      const found = rig.report.analytics(codeNo, from, to);
      check(found, analyticsOf(inRange(facts, codeNo, from, to)));
    }
  }
}

function checkDetails(rig: EngineHarness, facts: readonly ScanFact[]): void {
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
function checkEvents(rig: EngineHarness, facts: readonly ScanFact[], limit: number): void {
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
        const rig = new EngineHarness({
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
