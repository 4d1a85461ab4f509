/**
 * Sends attempts from the control thread to sender threads and reports each result.
 *
 *   send(tasks) --> queue of each endpoint --> pool tasks --> queue of the endpoint, in the thread
 *   onResult    <-- BroadcastChannel, as attempts end
 *
 * All attempts of an endpoint go to one thread, which keeps their order and the limit in flight (attempt.worker.ts).
 * The thread gets more than that in advance, so it never waits for this one, and one message carries many. If it returns
 * some, it gets no more of that endpoint until it confirms that it has returned all: nothing overtakes. If a thread died,
 * or a result has not arrived shortly after its pool task ended, the result is unknown and the delivery is sent again.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { AttemptRecord, AttemptSettings, AttemptTask } from '../../model/webhook.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import { shipped } from '../../platform/shipped.ts';
import { createPool, type Pool } from '../../platform/workers/pool.ts';
import type { AttemptBatch, AttemptEnd } from './attempt.worker.ts';

/** The result of an attempt; `unknown` if its thread died, `unsent` if it was not started. */
export type SentResult = AttemptRecord | 'unknown' | 'unsent';

/** An attempt without a result counts as one that failed at `atMs`. */
export const recordOf = (sent: SentResult, atMs: number): AttemptRecord =>
  typeof sent === 'object' ? sent : { atMs, durationMs: 0, failure: 'unknown' };

export type OnResult = (deliveryId: string, result: SentResult) => void;

export interface AttemptSender {
  /** Attempts of an endpoint that it takes in addition to those in flight; default: none. */
  readonly aheadMax?: number;
  /** Calls `onResult` once for each attempt, after this call. */
  send(tasks: readonly AttemptTask[], onResult: OnResult): void;
  recall?(endpointNo: EndpointNo): void;
  /** Starts a thread in advance: without one an attempt is late. */
  warm?(): void;
  /** Ends the threads; attempts in flight are aborted with an unknown result. */
  close(): Promise<void>;
}

/** A result is posted before its task ends, on another channel: it arrives within an event loop cycle or two. */
const lateMsUsual = 1_000;
/** The caller has waited already; attempts that still hang are aborted. */
const closeMsMax = 100;
/** Attempts of an endpoint in its thread: refilled to this number when half of them have ended. */
const handedMax = 128;
const refillAt = 64;
/** In addition to those in flight: in the thread, and queued here. */
const aheadMax = 176;

/** The scheduler bounds the attempts, so the pool refuses none. */
const tasksMax = 1_000_000;

interface Thread {
  readonly pool: Pool<AttemptBatch, void>;
  handed: number;
}

interface Waiting {
  readonly endpointNo: EndpointNo | undefined;
  readonly thread: Thread;
  readonly attempts: InFlight[];
  handed: number;
  /** The thread has not confirmed yet that it returned all unstarted attempts. */
  isRecalling: boolean;
}

interface InFlight {
  readonly task: AttemptTask;
  readonly onResult: OnResult;
  readonly of: Waiting;
  hasEnded: boolean;
}

interface PoolSenderOptions {
  readonly threads: number;
  readonly widthMax: number;
  readonly channel: string;
  readonly settings: AttemptSettings;
  readonly onDeath: (cause: unknown) => void;
  readonly lateMsMax?: number;
}

export class PoolSender implements AttemptSender {
  readonly aheadMax = aheadMax;
  readonly #options: PoolSenderOptions;
  readonly #threads: readonly [Thread, ...Thread[]];
  readonly #channel: BroadcastChannel;
  readonly #tasks = new Map<number, readonly InFlight[]>();
  readonly #recalls = new Map<number, Waiting>();
  #taskNo = 0;
  readonly #waiting = new Map<EndpointNo, Waiting>();
  #isClosed = false;

  constructor(options: PoolSenderOptions) {
    this.#options = options;
    const more = Array.from({ length: options.threads - 1 }, () => newThread(options));
    this.#threads = [newThread(options), ...more];
    this.#channel = new BroadcastChannel(options.channel);
    this.#channel.onmessage = (event) => this.#onMessage(event);
    this.#channel.unref();
  }

  send(tasks: readonly AttemptTask[], onResult: OnResult): void {
    const changed = new Set<Waiting>();
    for (const task of tasks) {
      const of = this.#waitingOf(task.endpointNo);
      of.attempts.push({ task, onResult, of, hasEnded: false });
      changed.add(of);
    }
    this.#handOver(changed);
  }

  recall(endpointNo: EndpointNo): void {
    const of = this.#waiting.get(endpointNo);
    if (of === undefined) return;
    for (const attempt of of.attempts.splice(0)) this.#end(attempt, 'unsent');
    if (of.handed > 0) this.#recall(of);
  }

  warm(): void {
    this.#threads[0].pool.warm();
  }

  get deaths(): number {
    return this.#threads.reduce((sum, { pool }) => sum + pool.stats().deaths, 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const no of this.#tasks.keys()) this.#giveUp(no);
    for (const { attempts } of this.#waiting.values()) {
      for (const attempt of attempts.splice(0)) this.#end(attempt, 'unknown');
    }
    await Promise.all(this.#threads.map(({ pool }) => pool.close()));
    this.#channel.close();
  }

  #waitingOf(endpointNo: EndpointNo | undefined): Waiting {
    const known = endpointNo === undefined ? undefined : this.#waiting.get(endpointNo);
    if (known !== undefined) return known;
    // One thread sends 20,000 a second; the others start under more load.
    const thread = this.#threads.reduce((one, other) => (other.handed < one.handed ? other : one));
    const of = { endpointNo, thread, attempts: [], handed: 0, isRecalling: false };
    if (endpointNo !== undefined) this.#waiting.set(endpointNo, of);
    return of;
  }

  #handOver(changed: Iterable<Waiting>): void {
    if (this.#isClosed) return;
    const batches = new Map<Thread, InFlight[]>();
    for (const of of changed) {
      if (of.attempts.length === 0 || of.handed > refillAt || of.isRecalling) continue;
      const next = of.attempts.splice(0, handedMax - of.handed);
      of.handed += next.length;
      of.thread.handed += next.length;
      const batch = batches.get(of.thread);
      if (batch === undefined) batches.set(of.thread, next);
      else batch.push(...next);
    }
    for (const [thread, attempts] of batches) void this.#run(thread, attempts);
  }

  #recall(of: Waiting): void {
    if (of.isRecalling) return;
    of.isRecalling = true;
    void this.#run(of.thread, [], of);
  }

  #recalled(no: number): void {
    const of = this.#recalls.get(no);
    if (of === undefined) return;
    this.#recalls.delete(no);
    of.isRecalling = false;
    this.#freeIdle(of);
    this.#handOver([of]);
  }

  async #run({ pool }: Thread, attempts: readonly InFlight[], recalled?: Waiting): Promise<void> {
    const { channel, settings, widthMax, lateMsMax = lateMsUsual } = this.#options;
    const no = ++this.#taskNo;
    this.#tasks.set(no, attempts);
    if (recalled !== undefined) this.#recalls.set(no, recalled);
    const tasks = attempts.map(({ task }) => task);
    const common = { channel, settings, widthMax, no };
    try {
      await pool.run({ ...common, recalled: recalled?.endpointNo, attempts: tasks });
    } catch {
      this.#giveUp(no);
      return;
    }
    const isOver = attempts.every(({ hasEnded }) => hasEnded) && !this.#recalls.has(no);
    if (this.#isClosed || isOver) this.#tasks.delete(no);
    else setTimeout(() => this.#giveUp(no), lateMsMax).unref();
  }

  #giveUp(no: number): void {
    const attempts = (this.#tasks.get(no) ?? []).filter(({ hasEnded }) => !hasEnded);
    this.#tasks.delete(no);
    this.#ended(attempts.map((attempt) => [attempt, 'unknown'] as const));
    this.#recalled(no);
  }

  #onMessage(event: unknown): void {
    // Both ends of the channel are built from the same type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const { data: ends } = event as { readonly data: readonly AttemptEnd[] };
    this.#ended(
      ends.flatMap(({ no, index = -1, attempt }) => {
        const inFlight = this.#tasks.get(no)?.[index];
        if (inFlight === undefined || inFlight.hasEnded) return [];
        return [[inFlight, attempt ?? 'unsent'] as const];
      }),
    );
    for (const { no, index } of ends) if (index === undefined) this.#recalled(no);
  }

  #ended(results: ReadonlyArray<readonly [InFlight, SentResult]>): void {
    const changed = new Set<Waiting>();
    for (const [inFlight, result] of results) {
      const { of } = inFlight;
      of.handed -= 1;
      of.thread.handed -= 1;
      changed.add(of);
      // Later attempts must not overtake the returned ones.
      if (result === 'unsent') this.#recall(of);
      this.#end(inFlight, result);
      if (typeof result === 'object') continue;
      for (const attempt of of.attempts.splice(0)) this.#end(attempt, 'unsent');
    }
    this.#handOver(changed);
  }

  #end(inFlight: InFlight, result: SentResult): void {
    const { of, task, onResult } = inFlight;
    inFlight.hasEnded = true;
    this.#freeIdle(of);
    onResult(task.deliveryId, result);
  }

  #freeIdle({ endpointNo, handed, attempts, isRecalling }: Waiting): void {
    const isDone = handed === 0 && attempts.length === 0 && !isRecalling;
    if (isDone && endpointNo !== undefined) this.#waiting.delete(endpointNo);
  }
}

const newThread = ({ onDeath }: PoolSenderOptions): Thread => ({
  pool: createPool({
    file: shipped.workerFile('attempt'),
    threads: 1,
    queueMax: 0,
    tasksPerThread: tasksMax,
    closeMsMax,
    onDeath,
  }),
  handed: 0,
});
