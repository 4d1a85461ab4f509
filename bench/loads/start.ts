/**
 * Start-up with many codes: time to the first redirect, memory. And takeovers: how long the API does not answer, from the
 * outside, while redirects do.
 */
import { request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../src/platform/system-clock.ts';
import { Arena, type Service } from './arena.ts';
import { memoryOf, threadNanoseconds } from './cpu.ts';
import { shortCodeOf, targetOf } from './seed.ts';

const pollMs = 50;
const askMs = 5;
const steadyMs = 500;

export interface Start {
  readonly seconds: number;
  /** Of it on a CPU, all threads together: what a busy machine does not stretch. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly fileBytes: number;
}

export interface StartResult {
  readonly starts: readonly Start[];
  /** Of the link table, without the targets themselves. */
  readonly bytesPerCode: number;
}

export async function measureStart(codes: number, rounds: number): Promise<StartResult> {
  const arena = new Arena();
  try {
    let service = await arena.service({ codes, depth: 'links' });
    const starts = [startOf(service)];
    const linkBytes = await linkBytesOf(service.metricsPort);
    let targetBytes = 0;
    for (let no = 1; no <= codes; no++) targetBytes += targetOf(no).length;
    while (starts.length < rounds) {
      service = await service.restart();
      starts.push(startOf(service));
    }
    const bytesPerCode = (linkBytes - targetBytes) / codes;
    return { starts, bytesPerCode };
  } finally {
    await arena.close();
  }
}

function startOf({ server }: Service): Start {
  const cpuNanoseconds = [...threadNanoseconds(server.pid).values()].reduce((a, b) => a + b, 0);
  return {
    seconds: server.readyMs / 1e3,
    cpuSeconds: cpuNanoseconds / 1e9,
    ...memoryOf(server.pid),
  };
}

async function linkBytesOf(port: number): Promise<number> {
  const metrics = await metricsOf(port);
  return Number(/^quietzone_link_bytes\{use="committed"\} (\S+)$/m.exec(metrics)?.[1]);
}

/** They listen a moment after the redirects do. */
async function metricsOf(port: number): Promise<string> {
  for (;;) {
    try {
      return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await wait(pollMs);
    }
  }
}

export interface TakeoverPauses {
  /** Longest time between two answers of the API, for each takeover. */
  readonly apiMs: readonly number[];
  readonly redirectMs: readonly number[];
}

export async function measureTakeovers(codes: number, takeovers: number): Promise<TakeoverPauses> {
  const arena = new Arena();
  try {
    let service = await arena.service({ codes, depth: 'links' });
    const result = { apiMs: new Array<number>(), redirectMs: new Array<number>() };
    while (result.apiMs.length < takeovers) {
      const api = new Poll(service.apiPort, '/health/ready', 200);
      const redirect = new Poll(service.server.port, `/${shortCodeOf(1)}`, 302);
      await wait(steadyMs);
      service = await service.takeOver();
      await wait(steadyMs);
      result.apiMs.push(await api.finish());
      result.redirectMs.push(await redirect.finish());
    }
    return result;
  } finally {
    await arena.close();
  }
}

/** Asks on a new connection each time until `finish`. */
class Poll {
  readonly #options;
  readonly #status: number;
  readonly #running: Promise<number>;
  #isEnding = false;

  constructor(port: number, path: string, status: number) {
    this.#options = { host: '127.0.0.1', port, path, method: 'HEAD', agent: false } as const;
    this.#status = status;
    this.#running = this.#run();
  }

  /** @returns the longest time between two answers, in milliseconds */
  async finish(): Promise<number> {
    this.#isEnding = true;
    return await this.#running;
  }

  async #run(): Promise<number> {
    let pauseMsMax = 0;
    let lastMs = systemClock.monotonicMs();
    while (!this.#isEnding) {
      await wait(askMs);
      if (!(await this.#isAnswered())) continue;
      const nowMs = systemClock.monotonicMs();
      pauseMsMax = Math.max(pauseMsMax, nowMs - lastMs);
      lastMs = nowMs;
    }
    return pauseMsMax;
  }

  #isAnswered(): Promise<boolean> {
    return new Promise((resolve) => {
      request(this.#options, (answer) => resolve(answer.resume().statusCode === this.#status))
        .once('error', () => resolve(false))
        .end();
    });
  }
}
