/**
 * Sends attempts from the control thread to the pool, and reports the result of each.
 *
 *   send(tasks) --> pool tasks of up to 32 attempts --> attempt.worker.ts
 *   onResult    <-- BroadcastChannel, as attempts end
 *
 * A pool task resolves when all its attempts have ended. Where it fails because its thread died, and where a result
 * has not arrived shortly after its task ended, the result is unknown and the delivery is sent again.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { AttemptRecord, AttemptSettings, AttemptTask } from '../../model/webhook.ts';
import { createPool, type Pool, type PoolStats } from '../../workers/pool.ts';
import { type AttemptBatch, type AttemptMessage, packBatch, unpackResult } from './attempt-wire.ts';
import type { DeliveryNo } from '../../model/numbers.ts';

/** Called with the result of an attempt; undefined = unknown. */
export type OnResult = (deliveryNo: DeliveryNo, attempt: AttemptRecord | undefined) => void;

export interface AttemptSender {
  /** Calls `onResult` once for each attempt, after this call. */
  send(tasks: readonly AttemptTask[], onResult: OnResult): void;
  /** Has a thread ready: an attempt that would have to wait for one comes too late. */
  warm?(): void;
  /** Ends the threads; attempts in flight are aborted, their result is unknown. */
  close(): Promise<void>;
}

/** A result is posted before its task ends, on another channel: it arrives within an event loop cycle or two. */
const lateMsUsual = 1_000;
/** The caller has waited already; what still hangs is aborted. */
const closeMsMax = 100;
/** Attempts of one pool task: small enough to spread over threads, large enough to share a message. */
const attemptsPerTask = 32;

interface InFlight {
  readonly task: AttemptTask;
  readonly onResult: OnResult;
}

export interface PoolSenderOptions {
  readonly threads: number;
  readonly inFlightMax: number;
  /** Name of the BroadcastChannel, unique in the process. */
  readonly channel: string;
  readonly settings: AttemptSettings;
  /** Called for each thread that dies: its attempts are sent again. */
  readonly onDeath: (cause: unknown) => void;
  /** Default 1 s. */
  readonly lateMsMax?: number;
}

export class PoolSender implements AttemptSender {
  readonly #options: PoolSenderOptions;
  readonly #pool: Pool<AttemptBatch, void>;
  readonly #channel: BroadcastChannel;
  /** By delivery number. A later attempt of the same delivery has another task. */
  readonly #inFlight = new Map<number, InFlight>();
  #isClosed = false;

  constructor(options: PoolSenderOptions) {
    this.#options = options;
    this.#pool = createPool({
      file: new URL('./attempt.worker.ts', import.meta.url),
      threads: options.threads,
      queueMax: 0,
      tasksPerThread: options.inFlightMax,
      closeMsMax,
      onDeath: options.onDeath,
    });
    this.#channel = new BroadcastChannel(options.channel);
    this.#channel.onmessage = (event) => this.#onMessage(event);
    this.#channel.unref();
  }

  send(tasks: readonly AttemptTask[], onResult: OnResult): void {
    for (const task of tasks) this.#inFlight.set(task.deliveryNo, { task, onResult });
    for (let at = 0; at < tasks.length; at += attemptsPerTask) {
      void this.#run(tasks.slice(at, at + attemptsPerTask));
    }
  }

  warm(): void {
    this.#pool.warm();
  }

  stats(): PoolStats {
    return this.#pool.stats();
  }

  async close(): Promise<void> {
    for (const no of this.#inFlight.keys()) this.#end(no, undefined);
    this.#isClosed = true;
    await this.#pool.close();
    this.#channel.close();
  }

  async #run(attempts: readonly AttemptTask[]): Promise<void> {
    const { channel, settings, lateMsMax = lateMsUsual } = this.#options;
    try {
      await this.#pool.run(packBatch(channel, settings, attempts));
    } catch {
      // The thread died, or the pool is closed: the results are unknown.
      this.#giveUp(attempts);
      return;
    }
    if (this.#isClosed || !attempts.some((task) => this.#isInFlight(task))) return;
    setTimeout(() => this.#giveUp(attempts), lateMsMax).unref();
  }

  #giveUp(attempts: readonly AttemptTask[]): void {
    for (const task of attempts) if (this.#isInFlight(task)) this.#end(task.deliveryNo, undefined);
  }

  #isInFlight(task: AttemptTask): boolean {
    return this.#inFlight.get(task.deliveryNo)?.task === task;
  }

  #onMessage(event: unknown): void {
    for (const packed of messageOf(event)) {
      const { deliveryNo, attempt } = unpackResult(packed);
      this.#end(deliveryNo, attempt);
    }
  }

  #end(deliveryNo: DeliveryNo, attempt: AttemptRecord | undefined): void {
    const inFlight = this.#inFlight.get(deliveryNo);
    this.#inFlight.delete(deliveryNo);
    inFlight?.onResult(deliveryNo, attempt);
  }
}

/** Both ends of the channel are built from the same type. */
function messageOf(event: unknown): AttemptMessage {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (event as { readonly data: AttemptMessage }).data;
}
