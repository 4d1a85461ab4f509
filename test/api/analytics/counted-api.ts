/** The API over scans that a real engine has counted: one shard, one clock that stands still, a client of the owner. */
import { afterAll } from 'vitest';
import { EngineHarness, scanOf } from '../../engine/counting/engine-harness.ts';
import { type CallOptions, word } from '../../support/client.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { useTestApi } from '../../support/test-client.ts';

export const iPhone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
export const android =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Mobile Safari/537.36';
export const crawler = 'Googlebot/2.1 (+http://www.google.com/bot.html)';

export interface CountedCode {
  readonly id: string;
  readonly no: number;
}

export interface ScanOptions {
  readonly agent?: string;
  readonly referer?: string;
  /** Where each of them led; in place of their number. */
  readonly routes?: readonly number[];
  /** Between two of them. */
  readonly stepMs?: number;
  readonly workspaceNo?: number;
}

/** For one test file: it closes after the last test. */
export async function useCountedApi(nowMs: number, rawRetentionDays = 90) {
  const engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 1_000_000,
    actorsMax: 100,
    rawRetentionDays,
    codeOf: (codeNo) => service.codes.findScanned(codeNo),
  });
  engine.nowMs = nowMs;
  engine.startShards(1);
  afterAll(() => engine.close());
  const { service, client, makeCode, codeNo } = await useTestApi({
    scans: engine.queries,
    clock: new TestClock(nowMs),
  });
  return {
    engine,
    service,
    client,
    /** Of a path below /v1. */
    get: (path: string, options?: CallOptions) => client.get(`/v1${path}`, options),
    code: async (fields?: object): Promise<CountedCode> => {
      const id = word((await makeCode(fields)).id);
      return { id, no: codeNo(id) };
    },
    /** Scans of as many visitors, by an iPhone; `engine.settle` counts them. */
    scan: (
      { no }: CountedCode,
      at: string | number,
      scans: number,
      more: ScanOptions = {},
    ): void => {
      const { routes = Array<number>(scans).fill(0), stepMs = 0, ...input } = more;
      const startMs = typeof at === 'string' ? Date.parse(at) : at;
      for (const [index, route] of routes.entries()) {
        const address = Uint8Array.of(192, 0, 2, index & 255);
        const visit = scanOf(no, { agent: iPhone, ...input, address, route });
        engine.scan(0, startMs + index * stepMs, [visit]);
      }
    },
    /** Counts what was scanned; the second checkpoint lets go what is too old. */
    checkpoint: (times: number): void => {
      for (let step = 0; step < times; step++) {
        engine.settle();
        engine.checkpoint(0);
      }
    },
  };
}
