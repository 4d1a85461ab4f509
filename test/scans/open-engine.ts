/** Engines over a few scans, or over a random life in small segments. */
import fc from 'fast-check';
import { onTestFinished } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { EngineHarness, type HarnessOptions } from './engine-harness.ts';
import {
  actorsMax,
  baseDay,
  codeOf,
  journals,
  shardCount,
  type Step,
  step,
} from './engine-steps.ts';

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
