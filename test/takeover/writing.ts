/**
 * The managing side through takeovers and kills: `Writes` of the crash runs over a client that comes again when the
 * service says 503 with Retry-After. It comes again at once, to measure how long no write was taken.
 */
import type { CallOptions } from '../support/client.ts';
import { type Answer, Client } from '../support/client.ts';
import type { Ledger } from '../crash/ledger.ts';
import type { Caller, Writes } from '../crash/writes.ts';

const againMs = 10;
/** A successor that hangs is given up after 30 s. */
const heldOffMsMax = 60_000;

export interface WritingSums {
  /** 503 with Retry-After. */
  readonly heldOff: number;
  /** Calls whose connection broke or was refused. */
  readonly broken: number;
  /** Longest time between two acknowledged writes. */
  readonly pauseMsMax: number;
}

export class PatientClient implements Caller {
  readonly #client: Client;
  readonly #note: (what: string) => void;
  heldOff = 0;

  constructor(url: string, key: string, ledger: Pick<Ledger, 'note'>) {
    this.#client = new Client(url, key);
    this.#note = (what) => ledger.note(what);
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const deadlineMs = performance.now() + heldOffMsMax;
    for (;;) {
      const answer = await this.#client.call(method, path, options);
      if (answer.status !== 503 || performance.now() > deadlineMs) return answer;
      if (answer.headers['retry-after'] === undefined) {
        this.#note(`${method} ${path} was answered 503 without Retry-After: ${answer.text}`);
      }
      this.heldOff++;
      await pause(againMs);
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** Writes until it is stopped, whatever becomes of the service meanwhile. */
export class Writing {
  readonly #writes: Writes;
  readonly #client: PatientClient;
  readonly #ledger: Ledger;
  readonly #watch: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #isStopping = false;
  #broken = 0;
  #pauseMsMax = 0;
  #acknowledged = 0;
  #lastMs = performance.now();

  constructor(writes: Writes, client: PatientClient, ledger: Ledger) {
    this.#writes = writes;
    this.#client = client;
    this.#ledger = ledger;
    this.#running = this.#run();
    this.#watch = setInterval(() => this.#measure(), 1);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#writes.stop();
    await this.#running;
    clearInterval(this.#watch);
  }

  get sums(): WritingSums {
    return { heldOff: this.#client.heldOff, broken: this.#broken, pauseMsMax: this.#pauseMsMax };
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#writes.start(this.#client);
      await this.#writes.ended;
      if (this.#isStopping) return;
      this.#broken++;
      await pause(againMs);
    }
  }

  #measure(): void {
    const nowMs = performance.now();
    if (this.#ledger.acknowledged > this.#acknowledged) {
      this.#acknowledged = this.#ledger.acknowledged;
      this.#lastMs = nowMs;
    } else if (this.#acknowledged > 0) {
      this.#pauseMsMax = Math.max(this.#pauseMsMax, nowMs - this.#lastMs);
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
