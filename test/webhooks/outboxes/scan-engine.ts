/** An engine with one shard, and whom its scans are from. */
import { onTestFinished } from 'vitest';
import type { ScannedCode } from '../../../src/model/code.ts';
import { EngineHarness } from '../../scans/engine-harness.ts';
import { startMs } from '../../support/fakes/test-clock.ts';

export const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
export const bot = 'Googlebot/2.1 (+http://www.google.com/bot.html)';

/** Codes 1 to 9 belong to workspace 1, others to 2; code 9 is gone for good. */
export const codeOf = (no: number): ScannedCode | undefined =>
  no === 9 ? undefined : { id: `qr_${no}` };

export function openScanEngine(rawRetentionDays = 30): EngineHarness {
  const engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 1_000_000,
    actorsMax: 1_000,
    rawRetentionDays,
    codeOf,
  });
  onTestFinished(async () => await engine.close());
  engine.nowMs = startMs;
  engine.startShards(1);
  return engine;
}
