/**
 * Thread entry of webhook attempts: sends the attempts of a task concurrently and posts each result as it arrives,
 * those of one event loop cycle in one message, so that a receiver that hangs delays no other result. The task ends
 * when all its attempts have ended; every message is posted before that.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { BroadcastChannel } from 'node:worker_threads';
import type { AttemptResult } from '../../model/webhook.ts';
import { systemClock } from '../../system-clock.ts';
import { threadEntry } from '../../workers/entry.ts';
import { Attempts } from './attempt.ts';
import { type AttemptBatch, type AttemptMessage, packResult, unpackTasks } from './attempt-wire.ts';
import { openNameLookup } from './name-lookup.ts';

// undici creates an error per header beyond the bound, thousands in a chunk: with stacks that takes 90 ms a chunk.
Error.stackTraceLimit = 0;

let attempts: Attempts | undefined;
let channel: ResultChannel | undefined;

/** Posts results to the control thread, those of one event loop cycle in one message. */
class ResultChannel {
  readonly #channel: BroadcastChannel;
  #results: Array<AttemptMessage[number]> = [];
  #posting: Promise<void> = Promise.resolve();

  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.unref();
  }

  add(result: AttemptResult): void {
    if (this.#results.push(packResult(result)) > 1) return;
    this.#posting = yieldToEventLoop().then(() => this.#post());
  }

  /** Resolves when everything added so far is posted: at the end of this event loop cycle. */
  posted(): Promise<void> {
    return this.#posting;
  }

  #post(): void {
    const message: AttemptMessage = this.#results;
    this.#results = [];
    this.#channel.postMessage(message);
  }
}

// Settings and channel are the same in every task of a pool.
export default threadEntry(async (batch: AttemptBatch) => {
  attempts ??= new Attempts({
    settings: batch.settings,
    clock: systemClock,
    names: openNameLookup({ clock: systemClock }),
  });
  channel ??= new ResultChannel(batch.channel);
  const [sender, results] = [attempts, channel];
  await Promise.all(
    unpackTasks(batch).map(async (task) => {
      results.add({ deliveryNo: task.deliveryNo, attempt: await sender.send(task) });
    }),
  );
  await results.posted();
});
