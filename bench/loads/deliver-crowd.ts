/**
 * A crowd of endpoints of which some hang: the same events to all of them, first while every one answers, then while
 * every tenth takes the request and never answers. Measured: how long a first attempt at a healthy one waits in both
 * cases, the memory, whether those that hung get their second attempt when it is due, and whether everything arrives.
 *
 *   cause   one PATCH in each workspace of 50 endpoints     delay   from `createdAt` to the POST's head
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import pLimit from 'p-limit';
import { openAdministration } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/system-clock.ts';
import { formatTable, formatTarget, quantile } from '../report.ts';
import type { Arena } from './arena.ts';
import { memoryOf } from './cpu.ts';

const endpointsPerWorkspace = 50;
const pollMs = 50;
/** Allowance for a busy machine: what has not arrived by then is missing. */
const lateMsMax = 60_000;
/** Requests of the API at once. */
const callsMax = 8;

export interface CrowdOrder {
  /** 0 = none. */
  readonly hangEvery?: number;
}

/** A request that was answered, or held until its sender gave up. */
export interface Sighting {
  readonly endpoint: number;
  readonly id: string;
  readonly attempt: number;
  readonly atMs: number;
  readonly delayMs: number;
  readonly isHeld: boolean;
  readonly endedMs?: number;
}

export interface CrowdSeen {
  /** Since the last message. */
  readonly sightings: readonly Sighting[];
  /** Requests whose event had other bytes before. */
  readonly altered: number;
  /** The longest block of the receiver's event loop: its times are late by up to this. */
  readonly lagMs: number;
}

export interface CrowdBounds {
  readonly endpoints: number;
  readonly hangEvery: number;
  /** Events to each endpoint in each half. */
  readonly rounds: number;
  readonly everyMs: number;
  readonly deadlineMs: number;
  readonly retryDelayMs: number;
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

interface Workspace {
  readonly key: string;
  readonly codeId: string;
}

class CrowdStage {
  readonly #child: ChildProcess;
  readonly #apiPort: number;
  readonly #workspaces: Workspace[] = [];
  readonly pid: number;
  altered = 0;
  lagMs = 0;
  #causes = 0;

  private constructor(child: ChildProcess, apiPort: number, pid: number) {
    this.#child = child;
    this.#apiPort = apiPort;
    this.pid = pid;
  }

  static async open(arena: Arena, bounds: CrowdBounds): Promise<CrowdStage> {
    const { endpoints, deadlineMs, retryDelayMs } = bounds;
    const { server, dataDir, apiPort } = await arena.service({
      codes: 1,
      environment: {
        QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
        QZ_WEBHOOKS_ATTEMPT_TIMEOUT_MS: String(deadlineMs),
        QZ_WEBHOOKS_RETRY_DELAYS_MS: [1, 6, 24].map((factor) => factor * retryDelayMs).join(','),
      },
    });
    const file = new URL('./deliver-crowd-receiver.ts', import.meta.url);
    const child = fork(file, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    const [{ port }]: [{ readonly port: number }] = await next(child);
    const stage = new CrowdStage(child, apiPort, server.pid);
    await listens(apiPort);
    const keys = await makeKeys(dataDir, Math.ceil(endpoints / endpointsPerWorkspace));
    for (const [workspace, key] of keys.entries()) {
      const code = { target: 'https://example.com/' };
      const codeId = await stage.#call(key, 'POST', '/qr-codes', code);
      stage.#workspaces.push({ key, codeId });
      const first = workspace * endpointsPerWorkspace;
      const count = Math.min(endpointsPerWorkspace, endpoints - first);
      await concurrently(count, async (at) => {
        const url = `http://127.0.0.1:${port}/${first + at}`;
        await stage.#call(key, 'POST', '/webhooks', { url, events: ['qr.updated'] });
      });
    }
    return stage;
  }

  /** One event for every endpoint. */
  async cause(): Promise<void> {
    this.#causes += 1;
    const body = { target: `https://example.com/${this.#causes}` };
    await concurrently(this.#workspaces.length, async (at) => {
      const { key, codeId } = this.#workspaces[at]!;
      await this.#call(key, 'PATCH', `/qr-codes/${codeId}`, body);
    });
  }

  async take(order: CrowdOrder = {}): Promise<readonly Sighting[]> {
    const answer = next<CrowdSeen>(this.#child);
    this.#child.send(order);
    const [seen]: [CrowdSeen] = await answer;
    this.altered = seen.altered;
    this.lagMs = seen.lagMs;
    return seen.sightings;
  }

  get memoryBytes(): number {
    const { residentBytes, fileBytes } = memoryOf(this.pid);
    return residentBytes - fileBytes;
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }

  /** @returns the id in the answer */
  async #call(key: string, method: string, path: string, body: object): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.#apiPort}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Wrong answer: ${method} ${path}: ${answer.status} ${text}`);
    const made: { readonly id: string } = JSON.parse(text);
    return made.id;
  }
}

/** @throws Error when the process ends instead */
function next<T>(child: ChildProcess): Promise<[T]> {
  const end = new AbortController();
  const ended = once(child, 'exit', { signal: end.signal }).then(() => {
    throw new Error('Cannot measure: the receiver ended');
  });
  const message = once(child, 'message') as Promise<[T]>;
  return Promise.race([message, ended]).finally(() => {
    ended.catch(() => undefined);
    end.abort();
  });
}

/** The API listens a moment after the redirects do. */
async function listens(port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < lateMsMax; waitedMs += pollMs) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined);
    if (answer?.ok) return;
    await wait(pollMs);
  }
  throw new Error('Cannot measure: the API does not listen');
}

/** A key to each of so many workspaces; the first exists. */
async function makeKeys(dataDir: string, count: number): Promise<string[]> {
  const administration = openAdministration(loadConfig(undefined, { QZ_DATA_DIR: dataDir }));
  const { keys, users, workspaces } = administration.services;
  const owner = users.firstOwner(1);
  if (owner === undefined) throw new Error('Cannot measure: the workspace has no owner');
  const tokens: string[] = [];
  for (let at = 0; at < count; at++) {
    const workspaceNo = at === 0 ? 1 : (await workspaces.create(owner.id, `Crowd ${at}`)).no;
    await workspaces.setPlan(workspaceNo, 'enterprise');
    const key = { workspaceNo, userId: owner.id, name: 'Bench', role: 'owner' } as const;
    tokens.push((await keys.create(key)).token);
  }
  await administration.close();
  return tokens;
}

/** `work` for 0 to `count` - 1, a few at once. */
async function concurrently(count: number, work: (at: number) => Promise<void>): Promise<void> {
  const limit = pLimit(callsMax);
  await Promise.all(Array.from({ length: count }, (_, at) => limit(() => work(at))));
}

export async function measureCrowd(arena: Arena, bounds: CrowdBounds): Promise<Crowd> {
  const stage = await CrowdStage.open(arena, bounds);
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
  /** The sightings of events of this half, until there are enough. */
  const gather = async (count: number, isWanted: (one: Sighting) => boolean = () => true) => {
    const seen: Sighting[] = [];
    for (let waitedMs = 0; seen.filter(isWanted).length < count; waitedMs += pollMs) {
      if (waitedMs > lateMsMax)
        throw new Error(`${seen.length} deliveries came, expected ${count}`);
      await wait(pollMs);
      const came = await stage.take();
      seen.push(...came.filter(({ atMs, delayMs }) => atMs - delayMs >= sinceMs));
    }
    return seen;
  };
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
  await stage.cause();
  await gather(endpoints);
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
    { what: 'p99 among those that hang', measured: hanging.p99Ms, unit: ' ms', atMost: 1_000 },
    { what: 'p99, to that without', measured: hanging.p99Ms / without.p99Ms, atMost: 2 },
    { what: 'missing', measured: crowd.missing, atMost: 0 },
    { what: 'other bytes', measured: crowd.altered, atMost: 0 },
    { what: 'soonest retry', measured: soonestMsMax, unit: ' ms', atLeast: bounds.retryDelayMs },
    { what: 'retry after its time, p99', measured: lateMs, unit: ' ms', atMost: 1_000 },
  ].map((target) => formatTarget(target));
  const sums = `${expected} deliveries in the second half, ${held} held until the deadline, ${crowd.duplicated} answered twice, soonest retry seen after ${soonestMs} ms`;
  return [table, sums, ...targets].join('\n');
}
