/** Takeovers with many codes: how long the API does not answer, from the outside, while redirects do. */
import { request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../src/system-clock.ts';
import { Arena } from './arena.ts';
import { shortCodeOf } from './seed.ts';

const pollMs = 5;
const steadyMs = 500;

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
      await wait(pollMs);
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
