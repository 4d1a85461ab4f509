/**
 * API writes through takeovers and kills: `Writes` of the crash runs over a client that repeats a call answered 503
 * with Retry-After. It repeats at once, to measure how long no write was accepted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, type CallOptions, Client } from '../support/client.ts';
import type { Ledger } from '../crash/ledger.ts';
import type { Random } from '../crash/random.ts';
import { type Caller, Writes } from '../crash/writes.ts';

const retryMs = 10;
/** Twice the 30 s after which a predecessor kills a successor that hangs. */
const unavailableMsMax = 60_000;

export class RetryingClient implements Caller {
  readonly #client: Client;
  readonly #ledger: Pick<Ledger, 'note'>;

  constructor(url: string, key: string, ledger: Pick<Ledger, 'note'>) {
    this.#client = new Client(url, key);
    this.#ledger = ledger;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const deadlineMs = performance.now() + unavailableMsMax;
    for (;;) {
      const answer = await this.#client.call(method, path, options);
      if (answer.status !== 503 || performance.now() > deadlineMs) return answer;
      if (answer.headers['retry-after'] === undefined) {
        this.#ledger.note(`${method} ${path} was answered 503 without Retry-After: ${answer.text}`);
      }
      await pause(retryMs);
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** Writes until it is stopped, through every break of the connection. */
export class ApiWrites {
  readonly #writes: Writes;
  readonly #client: RetryingClient;
  readonly #ledger: Ledger;
  readonly #measuring: NodeJS.Timeout;
  readonly #running: Promise<void>;
  #isStopping = false;
  /** Longest time between two acknowledged writes. */
  pauseMsMax = 0;
  #acknowledged = 0;
  #lastMs = performance.now();

  constructor(client: RetryingClient, ledger: Ledger, random: Random) {
    this.#writes = new Writes(ledger, random);
    this.#client = client;
    this.#ledger = ledger;
    this.#running = this.#run();
    this.#measuring = setInterval(() => this.#measure(), 1);
  }

  close(): void {
    this.#isStopping = true;
    clearInterval(this.#measuring);
  }

  /** Resolves once the fate of every write is known. */
  async finish(): Promise<void> {
    this.#isStopping = true;
    await this.#writes.stop();
    await this.#running;
    clearInterval(this.#measuring);
    await this.#writes.resolve(this.#client);
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#writes.start(this.#client);
      await this.#writes.ended;
      if (this.#isStopping) return;
      await pause(retryMs);
    }
  }

  #measure(): void {
    const nowMs = performance.now();
    if (this.#ledger.acknowledged > this.#acknowledged) {
      this.#acknowledged = this.#ledger.acknowledged;
      this.#lastMs = nowMs;
    } else if (this.#acknowledged > 0) {
      this.pauseMsMax = Math.max(this.pauseMsMax, nowMs - this.#lastMs);
    }
  }
}
