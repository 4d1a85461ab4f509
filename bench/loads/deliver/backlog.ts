/**
 * A backlog that nobody takes: one endpoint hangs to the deadline and gets a million events, five others, each of its
 * own workspace, answer. Measured before, with the backlog, after a restart with it, and while it is sent because
 * the endpoint answers: how long a first attempt at those waits, and the memory; besides how long the service takes to
 * read the backlog, to stop and to start.
 *
 * With `isTaken` all of it is sent in the end: everything must come, in the order of the outbox at its first attempt.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { formatTable, formatTarget, quantile } from '../../report.ts';
import type { Arena, Service } from '../arena.ts';
import { CrowdStage, type Sighting } from './crowd-stage.ts';
import { openEventFeed } from './events.ts';

const eventsPerTransaction = 20_000;
/** The endpoint of the first workspace; events are fed to that one. */
const slow = 0;
const healthy = 5;
/** Of all endpoints the first. */
const hangEvery = 1 + healthy;
const pollMs = 50;
const lateMsMax = 60_000;
/** The backlog is stored a second after it was read, at the latest. */
const storedMs = 1_500;
/** Started at once at one endpoint: so far apart may two of them arrive in the other order. */
const inFlightMax = 16;

export interface BacklogBounds {
  /** Events of the backlog. */
  readonly count: number;
  /** Events of each healthy endpoint in each part. */
  readonly rounds: number;
  readonly everyMs: number;
  readonly deadlineMs: number;
  readonly retryDelayMs: number;
  /** The whole backlog is sent in the end. */
  readonly isTaken: boolean;
  /** Another revision of the service. */
  readonly tree?: string;
}

interface Part {
  readonly delaysMs: readonly number[];
  readonly memoryBytes: number;
}

interface Taking {
  readonly seconds: number;
  readonly missing: number;
  readonly repeated: number;
  /** First attempts that came before one of an earlier event that was not in flight with them. */
  readonly disordered: number;
}

export interface BacklogResult {
  readonly before: Part;
  readonly during: Part;
  readonly restarted: Part;
  readonly sending: Part;
  readonly highestBytes: number;
  readonly feedSeconds: number;
  /** From the last transaction until the service has read everything. */
  readonly readSeconds: number;
  /** As the service counts them, before it stops and after it has started. */
  readonly waiting: readonly [number, number];
  /** To the first redirect: in an empty folder, and with the backlog. */
  readonly startSeconds: readonly [number, number];
  /** From the signal to the first deliveries at the healthy endpoints afterwards. */
  readonly restartSeconds: number;
  readonly taking: Taking | undefined;
}

export async function measureBacklog(arena: Arena, bounds: BacklogBounds): Promise<BacklogResult> {
  const stage = await CrowdStage.open(arena, {
    ...bounds,
    endpoints: 1 + healthy,
    endpointsPerWorkspace: 1,
  });
  try {
    return await measure(stage, bounds);
  } finally {
    stage.close();
  }
}

/** Of healthy endpoints, caused at `ms` or later. */
const healthySince =
  (ms: number) =>
  ({ endpoint, atMs, delayMs }: Sighting): boolean =>
    endpoint !== slow && atMs - delayMs >= ms;

async function measure(stage: CrowdStage, bounds: BacklogBounds): Promise<BacklogResult> {
  const seen: Sighting[] = [];
  const part = async (): Promise<Part> => {
    const isWanted = healthySince(systemClock.now());
    for (let round = 0; round < bounds.rounds; round++) {
      await Promise.all([stage.cause(), wait(bounds.everyMs)]);
    }
    const came = await stage.gather(bounds.rounds * healthy, 0, isWanted);
    seen.push(...came);
    const delaysMs = came.filter(isWanted).map(({ delayMs }) => delayMs);
    return { delaysMs, memoryBytes: stage.memoryBytes };
  };
  const emptyStart = stage.service.server.readyMs;
  // What is not compiled yet is slow.
  await part();
  const before = await part();
  seen.length = 0;
  seen.push(...(await stage.take({ hangEvery })));
  const fed = await feed(stage, bounds.count);
  const during = await part();
  await wait(storedMs);
  const waitingBefore = await gauge(stage.service, 'quietzone_webhook_deliveries{state="pending"}');
  const stoppedMs = systemClock.monotonicMs();
  await stage.restart();
  const waitingAfter = await gauge(stage.service, 'quietzone_webhook_deliveries{state="pending"}');
  const isNext = healthySince(systemClock.now());
  await stage.cause();
  seen.push(...(await stage.gather(healthy, 0, isNext)));
  const restartSeconds = secondsSince(stoppedMs);
  const restarted = await part();
  seen.push(...(await stage.take({ hangEvery: 0 })));
  // The attempt that hangs ends first.
  seen.push(...(await stage.gather(1, 0, ({ endpoint, isHeld }) => endpoint === slow && !isHeld)));
  const sending = await part();
  return {
    before,
    during,
    restarted,
    sending,
    ...fed,
    waiting: [waitingBefore, waitingAfter],
    startSeconds: [emptyStart / 1e3, stage.service.server.readyMs / 1e3],
    restartSeconds,
    taking: bounds.isTaken ? await take(stage, seen, bounds) : undefined,
  };
}

/** Writes the backlog, and waits until the service has read it. */
async function feed(stage: CrowdStage, count: number) {
  const { service } = stage;
  const events = await openEventFeed(service);
  let highestBytes = 0;
  const watch = (): void => void (highestBytes = Math.max(highestBytes, stage.memoryBytes));
  const fedMs = systemClock.monotonicMs();
  for (let left = count; left > 0; left -= eventsPerTransaction) {
    await events.feed(['qr.updated'], Math.min(left, eventsPerTransaction));
    watch();
  }
  await events.close();
  const feedSeconds = secondsSince(fedMs);
  const readMs = systemClock.monotonicMs();
  for (let lag = count; lag > 0;) {
    if (secondsSince(readMs) * 1e3 > lateMsMax) throw new Error(`${lag} events were not read`);
    await wait(pollMs);
    watch();
    lag = await gauge(service, 'quietzone_webhook_outbox_lag{outbox="events"}');
  }
  return { highestBytes, feedSeconds, readSeconds: secondsSince(readMs) };
}

const secondsSince = (ms: number): number => (systemClock.monotonicMs() - ms) / 1e3;

/** A figure of /metrics, by its name and labels. */
async function gauge({ metricsPort }: Service, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  if (line === undefined) throw new Error(`Cannot measure: /metrics has no ${name}`);
  return Number(line.slice(name.length));
}

/** The rest of the backlog. @param seen since the backlog was fed */
async function take(
  stage: CrowdStage,
  seen: readonly Sighting[],
  { count, rounds }: BacklogBounds,
): Promise<Taking> {
  const startedMs = systemClock.monotonicMs();
  // Three parts, and one event after the restart.
  const expected = count + 3 * rounds + 1;
  const firstMs = new Map<string, number>();
  const answered = new Map<string, number>();
  const note = ({ endpoint, id, atMs, isHeld }: Sighting): void => {
    if (endpoint !== slow) return;
    firstMs.set(id, Math.min(atMs, firstMs.get(id) ?? atMs));
    if (!isHeld) answered.set(id, (answered.get(id) ?? 0) + 1);
  };
  seen.forEach(note);
  let sightings = await stage.take();
  for (let quietMs = 0; answered.size < expected && quietMs < lateMsMax; quietMs += pollMs) {
    if (sightings.length > 0) quietMs = 0;
    sightings.forEach(note);
    await wait(pollMs);
    sightings = await stage.take();
  }
  sightings.forEach(note);
  return {
    seconds: secondsSince(startedMs),
    missing: expected - answered.size,
    repeated: [...answered.values()].reduce((sum, times) => sum + times - 1, 0),
    disordered: disorderedOf(firstMs),
  };
}

/** Event ids ascend as the outbox does. */
function disorderedOf(firstMs: ReadonlyMap<string, number>): number {
  const arrived = [...firstMs].toSorted(([, one], [, other]) => one - other).map(([id]) => id);
  const places = new Map(arrived.toSorted().map((id, place) => [id, place]));
  return arrived.filter((id, place) => Math.abs(places.get(id)! - place) > 2 * inFlightMax).length;
}

export function formatBacklog(result: BacklogResult, { count }: BacklogBounds): string {
  const { before, during, restarted, sending, waiting, startSeconds, taking } = result;
  const p99 = ({ delaysMs }: Part): number => quantile(delaysMs, 0.99);
  const row = (name: string, part: Part): string[] => [
    name,
    quantile(part.delaysMs, 0.5).toFixed(0),
    p99(part).toFixed(0),
    (part.memoryBytes / 1e6).toFixed(0),
  ];
  const table = formatTable(
    ['first attempt at a healthy one', 'p50 ms', 'p99 ms', 'memory MB'],
    [
      row('nothing waits', before),
      row(`${count} wait for one that hangs`, during),
      row('after a restart', restarted),
      row('they are sent', sending),
    ],
  );
  const seconds = (value: number): string => `${value.toFixed(2)} s`;
  const sums = [
    `fed in ${seconds(result.feedSeconds)}, read ${seconds(result.readSeconds)} later, memory meanwhile at most ${(result.highestBytes / 1e6).toFixed(0)} MB`,
    `waiting before the restart ${waiting[0]}, after it ${waiting[1]}; start ${seconds(startSeconds[0])} empty, ${seconds(startSeconds[1])} with the backlog; from the signal to the next deliveries ${seconds(result.restartSeconds)}`,
    ...(taking === undefined
      ? []
      : [
          `the rest taken in ${seconds(taking.seconds)}: ${taking.missing} missing, ${taking.repeated} answered twice, ${taking.disordered} out of order`,
        ]),
  ];
  const highest = Math.max(
    result.highestBytes,
    ...[during, restarted, sending].map(({ memoryBytes }) => memoryBytes),
  );
  const grown = (highest - before.memoryBytes) / 1e6;
  const targets = [
    { what: 'p99 with the backlog', measured: p99(during), unit: ' ms', atMost: 250 },
    { what: 'p99 after the restart', measured: p99(restarted), unit: ' ms', atMost: 250 },
    { what: 'p99 while it is sent', measured: p99(sending), unit: ' ms', atMost: 250 },
    { what: 'memory that it takes', measured: grown, unit: ' MB', atMost: 100 },
    { what: 'start, with to without', measured: startSeconds[1] / startSeconds[0], atMost: 1.5 },
  ].map((target) => formatTarget(target));
  return [table, ...sums, ...targets].join('\n');
}
