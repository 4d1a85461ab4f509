/**
 * The thread that sends webhooks dies with attempts in flight: another is back at once, nothing is lost, the same
 * bytes go out again under the same ids, and only what was in flight goes twice.
 */
import { expect, it } from 'vitest';
import { word } from '../support/client.ts';
import { timeToLoad, withDataFolder } from '../support/process.ts';
import { openReceiver, type Receiver } from '../support/receiver.ts';
import { eventually } from '../webhooks/eventually.ts';
import {
  committedIds,
  createMany,
  makeEndpoint,
  openReal,
  type RealService,
} from '../webhooks/real-service.ts';

const threads = new URL('../webhooks/end-pool-threads.ts', import.meta.url).pathname;
/** On a machine with cores to spare. */
const backMsMax = 1_000;
/** Remote so many times what it takes to load the program. */
const backByLoading = 4;
/** So that there are attempts in flight when the thread dies. */
const answerMs = 300;
/** More than may be in flight to one endpoint. */
const perBatch = 20;
const width = 16;
/** It throws, exits, runs out of memory. */
const deaths = ['SIGUSR2', 'SIGHUP', 'SIGWINCH'] as const;

const idsOf = ({ requests }: Receiver): string[] =>
  requests.map(({ headers }) => word(headers['webhook-id']));

/** Ends the thread amid a batch. @returns milliseconds until something that it had in flight has come again */
async function die(real: RealService, slow: Receiver, signal: NodeJS.Signals): Promise<number> {
  const repeats = (): number => slow.requests.length - new Set(idsOf(slow)).size;
  const made = new Set(idsOf(slow)).size;
  await createMany(real, perBatch);
  await eventually(() => new Set(idsOf(slow)).size >= made + perBatch / 2, 'it is at work');
  const before = repeats();
  const startedMs = performance.now();
  real.service.signal(signal);
  await eventually(() => repeats() > before, `what ${signal} cut off comes again`);
  const backMs = performance.now() - startedMs;
  await eventually(() => new Set(idsOf(slow)).size === made + perBatch, 'all of the batch');
  return backMs;
}

it('loses nothing when the thread that sends throws, exits or hoards', { timeout: 180_000 }, () =>
  withDataFolder(async (dataDir) => {
    const slow = await openReceiver({ kind: 'answer', delayMs: answerMs });
    const quick = await openReceiver();
    const real = await openReal(dataDir, {
      environment: { QZ_WEBHOOKS_THREADS: '1' },
      nodeArguments: ['--import', threads, '--max-old-space-size=256'],
    });
    await makeEndpoint(real, slow.url());
    await makeEndpoint(real, quick.url());
    await createMany(real, perBatch);
    await Promise.all([slow, quick].map((receiver) => receiver.arrived(perBatch)));
    const backMs: number[] = [];
    const boundsMs: number[] = [];
    for (const signal of deaths) {
      backMs.push(await die(real, slow, signal));
      boundsMs.push(Math.max(backMsMax, backByLoading * (await timeToLoad())));
    }
    const made = perBatch * (1 + deaths.length);
    const committed = await committedIds(real, made);
    expect(committed).toHaveLength(made);
    for (const receiver of [slow, quick]) {
      await eventually(() => new Set(idsOf(receiver)).size === made, 'all have come');
      expect([...new Set(idsOf(receiver))].sort()).toEqual(committed.toSorted());
      expect(new Set(receiver.requests.map(({ body }) => body.toString())).size).toBe(made);
      expect(receiver.requests.length - made).toBeLessThanOrEqual(deaths.length * width);
    }
    process.stdout.write(`back after ${backMs.map((ms) => ms.toFixed(0)).join(', ')} ms\n`);
    // Filling the memory takes a time of its own.
    for (const at of [0, 1]) expect(backMs[at]).toBeLessThan(boundsMs[at] ?? 0);
    await real.api.close();
    expect((await real.service.terminate()).code).toBe(0);
    await Promise.all([slow.close(), quick.close()]);
  }),
);
