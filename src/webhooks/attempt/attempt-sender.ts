/**
 * From the control thread to the pool: hands attempts to threads and hears how each ended.
 *
 *   send(tasks) --> a task of the pool per thread and turn --> attempt.worker.ts
 *   onEnd       <-- BroadcastChannel, as attempts end
 *
 * A task's promise says only that all of it ended. Where it fails because its thread died, and where a
 * result has not come shortly after its task ended, the outcome is unknown: the delivery goes out again.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { AttemptRecord, AttemptSettings, AttemptTask } from '../../model/webhook.ts';
import { createPool, type Pool, type PoolStats } from '../../workers/pool.ts';
import { type AttemptBatch, type AttemptMessage, packBatch, unpackResult } from './attempt-wire.ts';

/** Told how an attempt ended; undefined = nobody knows. */
export type AttemptEnd = (deliveryNo: number, attempt: AttemptRecord | undefined) => void;

export interface AttemptSender {
  /** Each attempt is told of once, later than this call. */
  send(tasks: readonly AttemptTask[], onEnd: AttemptEnd): void;
  /** Ends the threads; what is in flight is cut off and told of as unknown. */
  close(): Promise<void>;
}

/** A result is posted before its task ends, on another way: it comes within a turn or two. */
const lateMsMax = 1_000;
/** Whoever closes has waited already; what still hangs is cut off. */
const closeMsMax = 100;
/** Attempts of one task: small enough to spread over threads, large enough to share a message. */
const attemptsPerTask = 32;

interface Waiting {
  readonly task: AttemptTask;
  readonly onEnd: AttemptEnd;
}

export interface PoolSenderOptions {
  readonly threads: number;
  readonly inFlightMax: number;
  /** Tells this pool's results from others' in the process. */
  readonly channel: string;
  readonly settings: AttemptSettings;
  /** Told of each thread that dies: its attempts go out again. */
  readonly onDeath: (cause: unknown) => void;
}

export class PoolSender implements AttemptSender {
  readonly #options: PoolSenderOptions;
  readonly #pool: Pool<AttemptBatch, void>;
  readonly #channel: BroadcastChannel;
  /** By delivery: the attempt that is out. A later one of the same delivery is another. */
  readonly #waiting = new Map<number, Waiting>();
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
    this.#channel.onmessage = (event) => this.#hear(event);
    this.#channel.unref();
  }

  send(tasks: readonly AttemptTask[], onEnd: AttemptEnd): void {
    for (const task of tasks) this.#waiting.set(task.deliveryNo, { task, onEnd });
    for (let at = 0; at < tasks.length; at += attemptsPerTask) {
      void this.#run(tasks.slice(at, at + attemptsPerTask));
    }
  }

  stats(): PoolStats {
    return this.#pool.stats();
  }

  async close(): Promise<void> {
    for (const no of this.#waiting.keys()) this.#end(no, undefined);
    this.#isClosed = true;
    await this.#pool.close();
    this.#channel.close();
  }

  async #run(attempts: readonly AttemptTask[]): Promise<void> {
    const { channel, settings } = this.#options;
    try {
      await this.#pool.run(packBatch(channel, settings, attempts));
    } catch {
      // The thread is gone, or the pool is: nobody knows how far it came.
      this.#giveUp(attempts);
      return;
    }
    if (this.#isClosed || !attempts.some((task) => this.#isOut(task))) return;
    setTimeout(() => this.#giveUp(attempts), lateMsMax).unref();
  }

  #giveUp(attempts: readonly AttemptTask[]): void {
    for (const task of attempts) if (this.#isOut(task)) this.#end(task.deliveryNo, undefined);
  }

  #isOut(task: AttemptTask): boolean {
    return this.#waiting.get(task.deliveryNo)?.task === task;
  }

  #hear(event: unknown): void {
    for (const packed of newsOf(event)) {
      const { deliveryNo, attempt } = unpackResult(packed);
      this.#end(deliveryNo, attempt);
    }
  }

  #end(deliveryNo: number, attempt: AttemptRecord | undefined): void {
    const waiting = this.#waiting.get(deliveryNo);
    this.#waiting.delete(deliveryNo);
    waiting?.onEnd(deliveryNo, attempt);
  }
}

/** Both ends of the channel are built from the same type. */
function newsOf(event: unknown): AttemptMessage {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (event as { readonly data: AttemptMessage }).data;
}
