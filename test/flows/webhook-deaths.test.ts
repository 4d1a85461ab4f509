/**
 * The thread that sends webhooks dies with attempts in flight, then the service is stopped while receivers hang and
 * the queue is full: another thread is there at once, the service ends with 0 in time, nothing is lost, and only what
 * was in flight is sent again, with the same bytes under the same ids.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sharedFolder } from '../store/temporary-management.ts';
import { word } from '../support/client.ts';
import { isWithin, type TimeLimit } from '../support/process.ts';
import { preload } from '../support/program.ts';
import { healthy, openReceiver, type Receiver } from '../support/fakes/receiver.ts';
import { TestService } from '../support/test-service.ts';
import { eventually } from '../support/soon.ts';
import {
  committedIds,
  createMany,
  makeEndpoint,
  openReal,
  type RealService,
} from '../webhooks/real-service.ts';

const threads = preload('end-threads');
/** The thread throws, exits, runs out of memory. */
const deaths = ['SIGPWR', 'SIGURG', 'SIGSTKFLT'] as const;
const backLimit: TimeLimit = { msMax: 1_000, loadings: 4 };
const stopMsMax = 15_000;
/** Attempts in flight to one endpoint. */
const inFlightMax = 16;
/** More than may be in flight to one endpoint. */
const perBatch = 20;
/** More than may be in flight and handed over in advance. */
const queued = 60;
/** The hanging receiver's attempts do not end by themselves before the service stops. */
const environment = { QZ_WEBHOOKS_THREADS: '1', QZ_WEBHOOKS_ATTEMPT_TIMEOUT_MS: '60000' };

const seenBy = ({ requests }: Receiver, path: string) =>
  requests
    .filter((request) => request.path === path)
    .map(({ headers, body }) => ({
      id: word(headers['webhook-id']),
      delivery: word(headers['x-service-delivery']),
      body: body.toString(),
    }));
const idListAt = (receiver: Receiver, path: string): string[] =>
  seenBy(receiver, path).map(({ id }) => id);
const idsAt = (receiver: Receiver, path: string): Set<string> => new Set(idListAt(receiver, path));
const repeatedAt = (receiver: Receiver, path: string): string[] =>
  idListAt(receiver, path).filter((id, at, ids) => ids.indexOf(id) < at);

const dataDir = sharedFolder();
let real: RealService;
let slow: Receiver;
let quick: Receiver;
let hanging: Receiver;

beforeAll(async () => {
  slow = await openReceiver();
  quick = await openReceiver();
  hanging = await openReceiver({ kind: 'hang' });
  const nodeOptions = [threads, '--max-old-space-size=256'];
  real = await openReal(dataDir, { environment, nodeOptions });
});

afterAll(async () => {
  await real.service.kill();
  for (const receiver of [slow, quick, hanging]) await receiver.close();
});

/** Ends the thread amid a batch. @returns milliseconds until something that it had in flight has come again */
async function die(signal: NodeJS.Signals): Promise<number> {
  const repeats = (): number => repeatedAt(slow, '/deaths').length;
  const before = idsAt(slow, '/deaths').size;
  // What it gets first is not answered: the thread dies with it.
  slow.behave({ kind: 'hang' });
  await createMany(real, perBatch);
  await eventually(() => idsAt(slow, '/deaths').size === before + inFlightMax, 'it is at work');
  slow.behave(healthy);
  const repeatsBefore = repeats();
  const startedMs = performance.now();
  real.service.signal(signal);
  await eventually(() => repeats() > repeatsBefore, `what ${signal} aborted comes again`);
  const backMs = performance.now() - startedMs;
  await eventually(() => idsAt(slow, '/deaths').size === before + perBatch, 'all of the batch');
  return backMs;
}

it('loses nothing when the thread that sends throws, exits or runs out of memory', async () => {
  const receivers = [slow, quick];
  for (const receiver of receivers) await makeEndpoint(real, receiver.url('/deaths'));
  await createMany(real, perBatch);
  await Promise.all(receivers.map((receiver) => receiver.arrived(perBatch)));
  for (const [at, signal] of deaths.entries()) {
    const ms = await die(signal);
    // Filling the memory, the last of them, takes a time of its own.
    if (at < 2) expect([signal, ms, await isWithin(ms, backLimit)]).toEqual([signal, ms, true]);
  }
  const total = perBatch * (1 + deaths.length);
  const committed = await committedIds(real, total);
  expect(committed).toHaveLength(total);
  for (const receiver of receivers) {
    await eventually(() => idsAt(receiver, '/deaths').size === total, 'all have come');
    expect([...idsAt(receiver, '/deaths')].sort()).toEqual(committed.toSorted());
    expect(new Set(receiver.requests.map(({ body }) => body.toString())).size).toBe(total);
    expect(receiver.requests.length - total).toBeLessThanOrEqual(deaths.length * inFlightMax);
  }
});

it('stops in time, and repeats only what was in flight', async () => {
  const receivers = [hanging, quick];
  const before = (await committedIds(real, 1_000)).length;
  for (const receiver of receivers) await makeEndpoint(real, receiver.url('/hook'));
  await createMany(real, queued);
  // Newest first.
  const committed = (await committedIds(real, 1_000)).slice(0, -before);
  expect(committed).toHaveLength(queued);
  await hanging.arrived(inFlightMax);
  await eventually(() => idsAt(quick, '/hook').size === queued, 'the quick one has all');

  const end = await real.service.terminate();
  expect(end).toMatchObject({ code: 0, signal: null });
  expect(end.ms).toBeLessThan(stopMsMax);
  const said = real.service.logEntries.map(({ level, msg }) => `${level} ${msg}`);
  expect(said).toContain('warn webhook attempts stopped, they are repeated');
  expect(said.filter((line) => line.startsWith('error'))).toEqual([]);
  await real.api.close();
  const inFlight = idListAt(hanging, '/hook');
  expect(new Set(inFlight).size).toBe(inFlightMax);

  hanging.behave(healthy);
  const toLoopback = { ...environment, QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8' };
  const again = await TestService.start({ dataDir, environment: toLoopback });
  for (const receiver of receivers) {
    await eventually(() => idsAt(receiver, '/hook').size === queued, 'all have come');
    const seen = seenBy(receiver, '/hook');
    expect([...idsAt(receiver, '/hook')].sort()).toEqual(committed.toSorted());
    expect(repeatedAt(receiver, '/hook').sort()).toEqual(
      receiver === hanging ? inFlight.toSorted() : [],
    );
    expect(new Set(seen.map(({ body }) => body)).size).toBe(queued);
    expect(new Set(seen.map(({ delivery }) => delivery)).size).toBe(queued);
  }
  await again.close();
});
