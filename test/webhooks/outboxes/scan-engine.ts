/** An engine with one shard. */
import { onTestFinished } from 'vitest';
import type { ScannedCode } from '../../../src/model/code.ts';
import type { EngineHarness } from '../../scans/engine-harness.ts';
import { openBareEngine } from '../bare-webhooks.ts';
import { startMs } from '../../support/fakes/test-clock.ts';

export const bot = 'Googlebot/2.1 (+http://www.google.com/bot.html)';

/** Codes 1 to 9 belong to workspace 1, others to 2; code 9 is gone for good. */
export const codeOf = (no: number): ScannedCode | undefined =>
  no === 9 ? undefined : { id: `qr_${no}` };

export function openScanEngine(): EngineHarness {
  const engine = openBareEngine(1, { codeOf });
  onTestFinished(async () => await engine.close());
  engine.nowMs = startMs;
  return engine;
}
