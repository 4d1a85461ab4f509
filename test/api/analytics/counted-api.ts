/** The API over scans that a real engine has counted: one shard, a time that stands still, and a client of the first workspace. */
import { EngineHarness } from '../../scans/engine-harness.ts';
import { Client } from '../../support/client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

export interface CountedApi {
  readonly engine: EngineHarness;
  readonly service: TestApp;
  readonly client: Client;
  readonly close: () => Promise<void>;
}

export async function openCountedApi(nowMs: number, rawRetentionDays = 90): Promise<CountedApi> {
  const engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 1_000_000,
    actorsMax: 100,
    rawRetentionDays,
    codeOf: (codeNo) => service.codes.findScanned(codeNo),
  });
  engine.nowMs = nowMs;
  engine.startShards(1);
  const clock = { now: () => nowMs, monotonicMs: () => performance.now() };
  const service: TestApp = await startTestApi({ scans: engine.queries, clock });
  const client = new Client(service.url, service.apiKey);
  const close = async (): Promise<void> => {
    await client.close();
    await service.close();
    await engine.close();
  };
  return { engine, service, client, close };
}
