/** A service with endpoints in many workspaces, and their receivers, which see each attempt and hang on command. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Arena, Service } from '../arena.ts';
import { memoryOf } from '../cpu.ts';
import { apiListens, callApi, makeKeys } from './events.ts';

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

export interface CrowdStageBounds {
  readonly endpoints: number;
  readonly endpointsPerWorkspace: number;
  readonly deadlineMs: number;
  readonly retryDelayMs: number;
  /** Another revision of the service. */
  readonly tree?: string;
}

interface Workspace {
  readonly key: string;
  readonly codeId: string;
}

export class CrowdStage {
  readonly #child: ChildProcess;
  readonly #workspaces: Workspace[] = [];
  service: Service;
  altered = 0;
  lagMs = 0;
  #causes = 0;

  private constructor(child: ChildProcess, service: Service) {
    this.#child = child;
    this.service = service;
  }

  static async open(arena: Arena, bounds: CrowdStageBounds): Promise<CrowdStage> {
    const { endpoints, endpointsPerWorkspace, deadlineMs, retryDelayMs, tree } = bounds;
    const service = await arena.service({
      codes: 1,
      environment: {
        QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
        QZ_WEBHOOKS_ATTEMPT_TIMEOUT_MS: String(deadlineMs),
        QZ_WEBHOOKS_RETRY_DELAYS_MS: [1, 6, 24].map((factor) => factor * retryDelayMs).join(','),
      },
      ...(tree !== undefined && { tree }),
    });
    const file = new URL('./crowd-receiver.ts', import.meta.url);
    const child = fork(file, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    const [{ port }]: [{ readonly port: number }] = await next(child);
    const stage = new CrowdStage(child, service);
    await apiListens(service);
    const keys = await makeKeys(service, Math.ceil(endpoints / endpointsPerWorkspace));
    for (const [workspace, key] of keys.entries()) {
      const code = { target: 'https://example.com/' };
      const codeId = await callApi(service, key, {
        method: 'POST',
        path: '/qr-codes',
        body: code,
      });
      stage.#workspaces.push({ key, codeId });
      const first = workspace * endpointsPerWorkspace;
      const count = Math.min(endpointsPerWorkspace, endpoints - first);
      await concurrently(count, async (at) => {
        const body = { url: `http://127.0.0.1:${port}/${first + at}`, events: ['qr.updated'] };
        await callApi(service, key, { method: 'POST', path: '/webhooks', body });
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
      await callApi(this.service, key, { method: 'PATCH', path: `/qr-codes/${codeId}`, body });
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

  /** What comes until `count` are wanted, of events caused at `sinceMs` or later. @throws Error when they do not come */
  async gather(
    count: number,
    sinceMs: number,
    isWanted: (one: Sighting) => boolean = () => true,
  ): Promise<Sighting[]> {
    const seen: Sighting[] = [];
    let wanted = 0;
    for (let waitedMs = 0; wanted < count; waitedMs += pollMs) {
      if (waitedMs > lateMsMax) throw new Error(`${wanted} deliveries came, expected ${count}`);
      await wait(pollMs);
      for (const one of await this.take()) {
        if (one.atMs - one.delayMs < sinceMs) continue;
        seen.push(one);
        if (isWanted(one)) wanted += 1;
      }
    }
    return seen;
  }

  /** Ends the service, and starts it again on its folder. */
  async restart(): Promise<void> {
    this.service = await this.service.restart();
    await apiListens(this.service);
  }

  get memoryBytes(): number {
    const { residentBytes, fileBytes } = memoryOf(this.service.server.pid);
    return residentBytes - fileBytes;
  }

  close(): void {
    this.#child.kill('SIGKILL');
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

/** `work` for 0 to `count` - 1, a few at once. */
async function concurrently(count: number, work: (at: number) => Promise<void>): Promise<void> {
  const limit = pLimit(callsMax);
  await Promise.all(Array.from({ length: count }, (_, at) => limit(() => work(at))));
}
