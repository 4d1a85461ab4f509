/**
 * Thread entry of webhook attempts: runs a task's attempts side by side and posts each result as it
 * comes, those of one turn of the event loop in one message, so that a receiver that hangs holds up
 * no other's result. The task ends when all its attempts have; every message is posted before that.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { AttemptBatch, AttemptNews, AttemptResult } from '../model/webhook.ts';
import { systemClock } from '../system-clock.ts';
import { threadEntry } from '../workers/entry.ts';
import { Attempts } from './attempt.ts';
import { openNameLookup } from './name-lookup.ts';

/** Channels held open although no task uses them: a pool has one for deliveries, and one per test event. */
const idleLinesMax = 4;

let attempts: Attempts | undefined;
const lines = new Map<string, NewsLine>();

/** The way of results to one listener. */
class NewsLine {
  tasks = 0;
  readonly #channel: BroadcastChannel;
  #results: AttemptResult[] = [];

  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.unref();
  }

  add(result: AttemptResult): void {
    if (this.#results.push(result) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    if (this.#results.length === 0) return;
    const news: AttemptNews = { results: this.#results };
    this.#results = [];
    this.#channel.postMessage(news);
  }

  close(): void {
    this.#channel.close();
  }
}

function takeLine(name: string): NewsLine {
  const line = lines.get(name) ?? new NewsLine(name);
  lines.set(name, line);
  line.tasks += 1;
  return line;
}

function leaveLine(line: NewsLine): void {
  line.flush();
  line.tasks -= 1;
  if (lines.size <= idleLinesMax) return;
  for (const [name, idle] of lines) {
    if (idle.tasks > 0) continue;
    idle.close();
    lines.delete(name);
  }
}

export default threadEntry(async ({ channel, settings, attempts: tasks }: AttemptBatch) => {
  attempts ??= new Attempts({
    settings,
    clock: systemClock,
    names: openNameLookup({ clock: systemClock }),
  });
  const sender = attempts;
  const line = takeLine(channel);
  await Promise.all(
    tasks.map(async (task) => {
      line.add({ deliveryNo: task.deliveryNo, attempt: await sender.send(task) });
    }),
  );
  leaveLine(line);
});
