/**
 * A crowd of endpoints of which some hang: the same events to all of them, first while every one answers, then while
 * every tenth takes the request and never answers. Measured: how long a first attempt at a healthy one waits in both
 * cases, the memory, whether those that hung get their second attempt when it is due, and whether everything arrives.
 *
 *   cause   one PATCH in each workspace of 50 endpoints     delay   from `createdAt` to the POST's head
 */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { formatTable, formatTarget, quantile } from '../../report.ts';
import type { Arena } from '../arena.ts';
import { CrowdStage, type Sighting } from './crowd-stage.ts';

const endpointsPerWorkspace = 50;
/** Events to each endpoint before the first half: until V8 has compiled everything, a round takes four times as long. */
const warmUps = 12;

export interface CrowdBounds {
  readonly endpoints: number;
  readonly hangEvery: number;
  /** Events to each endpoint in each half. */
  readonly rounds: number;
  readonly everyMs: number;
  readonly deadlineMs: number;
  readonly retryDelayMs: number;
  /** Another revision of the service. */
  readonly tree?: string;
}

export interface Half {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly memoryBytes: number;
}

export interface Crowd {
  readonly without: Half;
  readonly hanging: Half;
  /** Attempts that were held until their deadline. */
  readonly held: number;
  /**
   * From the end of a held attempt to the next at the same delivery: the shortest, as the receiver saw it and at
   * most, for it learns of an end late; and each endpoint's first.
   */
  readonly soonestMs: number;
  readonly soonestMsMax: number;
  readonly firstRetryMs: readonly number[];
  readonly expected: number;
  readonly missing: number;
  readonly duplicated: number;
  readonly altered: number;
}

export async function measureCrowd(arena: Arena, bounds: CrowdBounds): Promise<Crowd> {
  const stage = await CrowdStage.open(arena, { ...bounds, endpointsPerWorkspace });
  try {
    return await measure(stage, bounds);
  } finally {
    stage.close();
  }
}

async function measure(stage: CrowdStage, bounds: CrowdBounds): Promise<Crowd> {
  const { endpoints, hangEvery, rounds, everyMs } = bounds;
  const hangers = Math.ceil(endpoints / hangEvery);
  const isHealthy = ({ endpoint }: Sighting): boolean => endpoint % hangEvery !== 0;
  let sinceMs = 0;
  const gather = (count: number, isWanted?: (one: Sighting) => boolean) =>
    stage.gather(count, sinceMs, isWanted);
  const load = async (): Promise<void> => {
    sinceMs = systemClock.now();
    for (let round = 0; round < rounds; round++) await Promise.all([stage.cause(), wait(everyMs)]);
  };
  const half = (seen: readonly Sighting[]): Half => {
    const firsts = seen.filter((one) => isHealthy(one) && one.attempt === 1);
    const delays = firsts.map(({ delayMs }) => delayMs);
    const [p50Ms, p99Ms] = [quantile(delays, 0.5), quantile(delays, 0.99)];
    return { p50Ms, p99Ms, memoryBytes: stage.memoryBytes };
  };
  for (let round = 0; round < warmUps; round++) {
    sinceMs = systemClock.now();
    await stage.cause();
    await gather(endpoints);
  }
  await load();
  const without = half(await gather(endpoints * rounds));
  await stage.take({ hangEvery });
  await load();
  const seen = await gather((endpoints - hangers) * rounds, isHealthy);
  const hanging = half(seen);
  // Until the last attempt that hangs has ended; later ones are answered.
  const ended = seen.filter(({ isHeld }) => isHeld).length;
  seen.push(...(await gather(hangers * rounds - ended, ({ isHeld }) => isHeld)));
  seen.push(...(await stage.take({ hangEvery: 0 })));
  seen.push(...(await gather(hangers * rounds, (one) => !isHealthy(one) && !one.isHeld)));
  await wait(bounds.retryDelayMs / 2);
  seen.push(...(await stage.take()));
  const balanced = balance(seen, bounds);
  const soonestMsMax = balanced.soonestMs + stage.lagMs;
  return { without, hanging, ...balanced, soonestMsMax, altered: stage.altered };
}

/** The outcome of the second half, by endpoint and event. */
function balance(all: readonly Sighting[], { endpoints, rounds }: CrowdBounds) {
  const answered = new Map<string, number>();
  const heldUntil = new Map<string, number>();
  const firstRetryMs = new Map<number, number>();
  let soonestMs = Number.POSITIVE_INFINITY;
  let held = 0;
  for (const { endpoint, id, atMs, isHeld, endedMs } of all.toSorted((a, b) => a.atMs - b.atMs)) {
    const name = `${endpoint} ${id}`;
    const before = heldUntil.get(name);
    if (before !== undefined) {
      const waitedMs = atMs - before;
      soonestMs = Math.min(soonestMs, waitedMs);
      if (!firstRetryMs.has(endpoint)) firstRetryMs.set(endpoint, waitedMs);
    }
    if (isHeld) held += 1;
    if (isHeld) heldUntil.set(name, endedMs ?? 0);
    else answered.set(name, (answered.get(name) ?? 0) + 1);
  }
  const expected = endpoints * rounds;
  const duplicated = [...answered.values()].reduce((sum, times) => sum + times - 1, 0);
  const missing = expected - answered.size;
  return {
    held,
    soonestMs,
    firstRetryMs: [...firstRetryMs.values()],
    expected,
    missing,
    duplicated,
  };
}

export function formatCrowd(crowd: Crowd, bounds: CrowdBounds): string {
  const { without, hanging, firstRetryMs, soonestMs, soonestMsMax, held, expected } = crowd;
  const row = (name: string, half: Half): string[] => [
    name,
    half.p50Ms.toFixed(0),
    half.p99Ms.toFixed(0),
    (half.memoryBytes / 1e6).toFixed(0),
  ];
  const table = formatTable(
    ['first attempt at a healthy one', 'p50 ms', 'p99 ms', 'memory MB'],
    [row('all answer', without), row(`one in ${bounds.hangEvery} hangs`, hanging)],
  );
  const lateMs = quantile(firstRetryMs, 0.99) - bounds.retryDelayMs;
  const targets = [
    { what: 'p99 among those that hang', measured: hanging.p99Ms, unit: ' ms', atMost: 250 },
    { what: 'p99, to that without', measured: hanging.p99Ms / without.p99Ms, atMost: 2 },
    { what: 'missing', measured: crowd.missing, atMost: 0 },
    { what: 'other bytes', measured: crowd.altered, atMost: 0 },
    { what: 'soonest retry', measured: soonestMsMax, unit: ' ms', atLeast: bounds.retryDelayMs },
    { what: 'retry after its time, p99', measured: lateMs, unit: ' ms', atMost: 1_000 },
  ].map((target) => formatTarget(target));
  const sums = `${expected} deliveries in the second half, ${held} held until the deadline, ${crowd.duplicated} answered twice, soonest retry seen after ${soonestMs} ms`;
  return [table, sums, ...targets].join('\n');
}
