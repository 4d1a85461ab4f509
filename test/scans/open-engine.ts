/** An engine over one journal, which closes with its test. */
import { onTestFinished } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { EngineHarness, type HarnessOptions } from './engine-harness.ts';
import { baseDay, codeOf } from './engine-steps.ts';

export function openEngine(more: Partial<HarnessOptions> = {}): EngineHarness {
  const engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 100_000,
    actorsMax: 4,
    rawRetentionDays: 40_000,
    codeOf,
    ...more,
  });
  onTestFinished(() => engine.close());
  engine.nowMs = baseDay * dayMs;
  engine.startShards(1);
  return engine;
}
