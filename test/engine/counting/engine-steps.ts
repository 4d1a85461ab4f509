/** Random lives of the engine, and engines for them or for a few scans. What a test compares after each step is its own. */
import fc from 'fast-check';
import { onTestFinished } from 'vitest';
import { dayMs } from '../../../src/model/day.ts';
import type { ScannedCode } from '../../../src/model/code.ts';
import { isMissed, type RouteLabel } from '../../../src/model/routing/labels.ts';
import type { Routing } from '../../../src/model/routing/routing.ts';
import { EngineHarness, type FailPoint, type HarnessOptions } from './engine-harness.ts';
import { agents, botAgent } from '../../torture/ledger.ts';
import { refererHosts } from './plain-model.ts';

export const baseDay = 20_730;
export const codes = 7;
const journals = 3;
export const actorsMax = 4;
/** Codes 5 to 7 have had labels, the first of them since noon of the base day. */
export const labels: readonly RouteLabel[] = Array.from({ length: 58 }, (_, index) => {
  return { name: `label-${index + 1}` };
});
const labelsSinceMs = (baseDay + 0.5) * dayMs;
const routing: Routing = {
  rules: [],
  passQuery: false,
  paused: false,
  labels,
  labelsSinceMs,
  campaign: '',
  seed: 'AAAAAAAAAAAAAAAAAAAAAA',
};
export const hasLabels = (codeNo: number): boolean => codeNo >= 5;
/** Code 4 is not known. */
export const codeOf = (codeNo: number): ScannedCode | undefined =>
  codeNo === 4 ? undefined : { id: `qr_${codeNo}`, ...(hasLabels(codeNo) && { routing }) };
export const workspaceOf = (codeNo: number): number => (codeNo % 2) + 1;
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
  agent: fc.constantFrom('', ...agents.map(({ text }) => text), botAgent),
  referer: fc.constantFrom(...Object.keys(refererHosts)),
  address,
  isPrefetch: fc.integer({ min: 0, max: 9 }).map((value) => value === 0),
  /** Labels of codes that have some, and people in vain. */
  route: fc.constantFrom(0, 0, 0, 1, 2, 17, 58, 59, 60, 61, 62),
});
/** Mostly today; late, and as clocks that step a month, a year or ten years see it. */
const day = fc
  .constantFrom(0, 0, 0, 0, 0, 1, 1, -1, 2, 31, -40, 366, 3_650)
  .map((offset) => baseDay + offset);
const ms = fc.integer({ min: 0, max: dayMs - 1 });
const scans = fc.array(scan, { minLength: 1, maxLength: 6 });
const journal = fc.integer({ min: 0, max: journals - 1 });
const shard = fc.integer({ min: 0, max: 3 });
const shardCount = fc.integer({ min: 1, max: 4 });
const after = fc.integer({ min: 0, max: 3 });
const point = fc.constantFrom<FailPoint>('before', 'after');
const garbage = fc.uint8Array({ minLength: 1, maxLength: 80 });
const named = <K extends string>(kind: K) => fc.constant(kind);

export const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: named('scan'), journal, day, ms, scans }) },
  { weight: 8, arbitrary: fc.record({ kind: named('cycle'), shard }) },
  { weight: 2, arbitrary: fc.record({ kind: named('checkpoint'), shard }) },
  { weight: 2, arbitrary: fc.record({ kind: named('crash'), shards: shardCount }) },
  { weight: 2, arbitrary: fc.record({ kind: named('fail'), after, point }) },
  { weight: 2, arbitrary: fc.record({ kind: named('heal') }) },
  { weight: 1, arbitrary: fc.record({ kind: named('tear'), journal, garbage }) },
  { weight: 2, arbitrary: fc.record({ kind: named('rotate'), journal }) },
  { weight: 2, arbitrary: fc.record({ kind: named('prune') }) },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

export async function run(engine: EngineHarness, step: Step): Promise<void> {
  switch (step.kind) {
    case 'scan':
      return engine.scan(
        step.journal,
        step.day * dayMs + step.ms,
        step.scans.map(({ route, ...scan }) => {
          const isPossible = hasLabels(scan.codeNo) || isMissed(route);
          return { ...scan, route: isPossible ? route : 0, workspaceNo: workspaceOf(scan.codeNo) };
        }),
      );
    case 'cycle':
      return void engine.cycle(step.shard);
    case 'checkpoint':
      return engine.checkpoint(step.shard);
    case 'crash':
      return engine.startShards(step.shards);
    case 'fail':
      engine.failAfter = step.after;
      engine.failPoint = step.point;
      return undefined;
    case 'heal':
      engine.failAfter = Number.MAX_SAFE_INTEGER;
      return undefined;
    case 'tear':
      return engine.tearJournal(step.journal, step.garbage);
    case 'rotate':
      return engine.rotate(step.journal);
    case 'prune':
      return engine.pruneJournals();
  }
}

function createEngine(more: Partial<HarnessOptions>): EngineHarness {
  const engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 100_000,
    actorsMax,
    rawRetentionDays: 40_000,
    codeOf,
    ...more,
  });
  engine.nowMs = baseDay * dayMs;
  return engine;
}

/** With one shard; closes with its test. */
export function openEngine(more: Partial<HarnessOptions> = {}): EngineHarness {
  const engine = createEngine(more);
  onTestFinished(() => engine.close());
  engine.startShards(1);
  return engine;
}

/** With three journals in small segments and as many shards as asked, until `live` has ended. */
export async function withEngine(
  shards: number,
  live: (engine: EngineHarness) => Promise<void>,
  more: Partial<HarnessOptions> = {},
): Promise<void> {
  const engine = createEngine({ journals, segmentBytesMax: 700, ...more });
  try {
    engine.startShards(shards);
    await live(engine);
  } finally {
    await engine.close();
  }
}

/** With what random steps may do to it. */
export async function everyLife(
  numRuns: number,
  live: (engine: EngineHarness, steps: readonly Step[], limit: number) => Promise<void>,
): Promise<void> {
  const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });
  const property = fc.asyncProperty(
    steps,
    shardCount,
    fc.integer({ min: 1, max: 9 }),
    (life, count, limit) => withEngine(count, (engine) => live(engine, life, limit)),
  );
  await fc.assert(property, { numRuns });
}
