/**
 * Thread entry of webhook attempts: runs a task's attempts side by side and posts each result as it
 * comes, those of one turn of the event loop in one message, so that a receiver that hangs holds up
 * no other's result. The task ends when all its attempts have; every message is posted before that.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { AttemptResult } from '../../model/webhook.ts';
import { systemClock } from '../../system-clock.ts';
import { threadEntry } from '../../workers/entry.ts';
import { Attempts } from './attempt.ts';
import { type AttemptBatch, type AttemptMessage, packResult, unpackTasks } from './attempt-wire.ts';
import { openNameLookup } from './name-lookup.ts';

/** Channels held open although no task uses them: a pool has one for deliveries, and one per test event. */
const idleLinesMax = 4;

// undici makes an error per header beyond the bound, thousands of a chunk: with stacks that is 90 ms a chunk.
Error.stackTraceLimit = 0;

let attempts: Attempts | undefined;
const lines = new Map<string, NewsLine>();

/** The way of results to one listener. */
class NewsLine {
  tasks = 0;
  readonly #channel: BroadcastChannel;
  #results: Array<AttemptMessage[number]> = [];
  #posting: Promise<void> = Promise.resolve();

  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.unref();
  }

  add(result: AttemptResult): void {
    if (this.#results.push(packResult(result)) > 1) return;
    this.#posting = new Promise((resolve) => {
      setImmediate(() => {
        this.#post();
        resolve();
      });
    });
  }

  /** Resolves when what was added has been posted: at the end of this turn, with the results of others. */
  posted(): Promise<void> {
    return this.#posting;
  }

  close(): void {
    this.#channel.close();
  }

  #post(): void {
    const news: AttemptMessage = this.#results;
    this.#results = [];
    this.#channel.postMessage(news);
  }
}

function takeLine(name: string): NewsLine {
  const line = lines.get(name) ?? new NewsLine(name);
  lines.set(name, line);
  line.tasks += 1;
  return line;
}

function leaveLine(line: NewsLine): void {
  line.tasks -= 1;
  if (lines.size <= idleLinesMax) return;
  for (const [name, idle] of lines) {
    if (idle.tasks > 0) continue;
    idle.close();
    lines.delete(name);
  }
}

export default threadEntry(async (batch: AttemptBatch) => {
  attempts ??= new Attempts({
    settings: batch.settings,
    clock: systemClock,
    names: openNameLookup({ clock: systemClock }),
  });
  const sender = attempts;
  const line = takeLine(batch.channel);
  await Promise.all(
    unpackTasks(batch).map(async (task) => {
      line.add({ deliveryNo: task.deliveryNo, attempt: await sender.send(task) });
    }),
  );
  await line.posted();
  leaveLine(line);
});
