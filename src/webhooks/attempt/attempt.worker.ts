/**
 * Thread entry of webhook attempts. Each endpoint has a queue here: its attempts start in order, so many at once as it may
 * have in flight, whatever the others do. After five failures in a row, and after a 410, the rest goes back unsent, and so does what was on
 * its way here meanwhile, until the sender recalls: nothing overtakes. Then the scheduler goes on with one at a time.
 *
 * Results are posted as they arrive, those of 2 ms in one message. A pool task ends when all its attempts have ended;
 * every result is posted before that.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { EndpointNo } from '../../model/numbers.ts';
import type { Attempt, AttemptRecord } from '../../model/webhook.ts';
import { systemClock } from '../../system-clock.ts';
import { threadEntry } from '../../workers/entry.ts';
import { statusGone } from '../deliveries/delivery.ts';
import { failuresMax } from '../dispatch/fair-scheduler.ts';
import { Attempts } from './attempt.ts';
import {
  type AttemptBatch,
  type AttemptEnd,
  packResults,
  recallIndex,
  unpackTasks,
} from './attempt-wire.ts';
import { openNameLookup } from './name-lookup.ts';

// undici creates an error per header beyond the bound, thousands in a chunk: with stacks that takes 90 ms a chunk.
Error.stackTraceLimit = 0;

/** A message wakes the control thread, which costs more than the results in it: they wait while their queue has more to start. */
const postMs = 2;

/** Posts results to the control thread. */
class ResultChannel {
  readonly #channel: BroadcastChannel;
  #results: AttemptEnd[] = [];
  /** At the end of this event loop cycle. */
  #isPosting = false;

  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.unref();
  }

  /** @param isAwaited nothing of its endpoint is left to start */
  add(result: AttemptEnd, { isAwaited }: { readonly isAwaited: boolean }): void {
    if (this.#results.push(result) === 1) setTimeout(() => this.post(), postMs);
    if (!isAwaited || this.#isPosting) return;
    this.#isPosting = true;
    setImmediate(() => {
      this.#isPosting = false;
      this.post();
    });
  }

  /** Posts everything added so far. */
  post(): void {
    if (this.#results.length === 0) return;
    const message = packResults(this.#results);
    this.#results = [];
    this.#channel.postMessage(message);
  }
}

/** A pool task. */
interface Task {
  readonly no: number;
  left: number;
  readonly onEnd: () => void;
}

interface Queued {
  readonly attempt: Attempt;
  readonly task: Task;
  readonly index: number;
}

interface EndpointQueue {
  readonly endpointNo: EndpointNo | undefined;
  attempts: Queued[];
  /** Before this index they were started. */
  next: number;
  inFlight: number;
  failuresInRow: number;
  /** Whatever comes goes back, until it is recalled. */
  isClosed: boolean;
}

class EndpointQueues {
  readonly #sender: Attempts;
  readonly #results: ResultChannel;
  readonly #widthMax: number;
  readonly #queues = new Map<EndpointNo, EndpointQueue>();

  constructor({ settings, channel, widthMax }: AttemptBatch) {
    const names = openNameLookup({ clock: systemClock });
    this.#sender = new Attempts({ settings, clock: systemClock, names });
    this.#results = new ResultChannel(channel);
    this.#widthMax = widthMax;
  }

  /** Resolves when the attempts of the batch have ended and their results are posted. */
  async run(batch: AttemptBatch): Promise<void> {
    for (const endpointNo of batch.recalled) this.#recall(endpointNo);
    if (batch.recalled.length > 0) {
      const confirmation = { task: batch.no, index: recallIndex, attempt: undefined };
      this.#results.add(confirmation, { isAwaited: true });
    }
    const attempts = unpackTasks(batch);
    if (attempts.length > 0) {
      await new Promise<void>((resolve) => {
        const task = { no: batch.no, left: attempts.length, onEnd: resolve };
        const changed = new Set<EndpointQueue>();
        for (const [index, attempt] of attempts.entries()) {
          const queue = this.#queueOf(attempt.endpointNo);
          queue.attempts.push({ attempt, task, index });
          changed.add(queue);
        }
        for (const queue of changed) this.#start(queue);
      });
    }
    this.#results.post();
  }

  #queueOf(endpointNo: EndpointNo | undefined): EndpointQueue {
    const known = endpointNo === undefined ? undefined : this.#queues.get(endpointNo);
    if (known !== undefined) return known;
    const counts = { next: 0, inFlight: 0, failuresInRow: 0 };
    const queue = { endpointNo, attempts: [], ...counts, isClosed: false };
    if (endpointNo !== undefined) this.#queues.set(endpointNo, queue);
    return queue;
  }

  #recall(endpointNo: EndpointNo): void {
    const queue = this.#queues.get(endpointNo);
    if (queue === undefined) return;
    this.#giveBack(queue);
    queue.isClosed = false;
    this.#start(queue);
  }

  #start(queue: EndpointQueue): void {
    if (queue.isClosed) this.#giveBack(queue);
    const width = queue.failuresInRow >= failuresMax ? 1 : this.#widthMax;
    while (queue.inFlight < width && queue.next < queue.attempts.length) {
      const queued = queue.attempts[queue.next++]!;
      queue.inFlight += 1;
      void this.#sender.send(queued.attempt).then((record) => this.#ended(queue, queued, record));
    }
    if (queue.next < queue.attempts.length) return;
    queue.attempts = [];
    queue.next = 0;
    if (queue.endpointNo === undefined || queue.inFlight > 0) return;
    // One that has failed goes on counting.
    if (queue.failuresInRow === 0 && !queue.isClosed) this.#queues.delete(queue.endpointNo);
  }

  #ended(queue: EndpointQueue, queued: Queued, record: AttemptRecord): void {
    queue.inFlight -= 1;
    queue.failuresInRow = record.failure === undefined ? 0 : queue.failuresInRow + 1;
    const isOver = record.status === statusGone || queue.failuresInRow >= failuresMax;
    if (isOver && this.#giveBack(queue) > 0) queue.isClosed = true;
    this.#start(queue);
    this.#report(queued, record, { isAwaited: queue.attempts.length === 0 });
  }

  /** @returns how many were not started */
  #giveBack(queue: EndpointQueue): number {
    const left = queue.attempts.splice(queue.next);
    for (const queued of left) this.#report(queued, undefined, { isAwaited: true });
    return left.length;
  }

  #report(
    { task, index }: Queued,
    attempt: AttemptRecord | undefined,
    when: { readonly isAwaited: boolean },
  ): void {
    this.#results.add({ task: task.no, index, attempt }, when);
    task.left -= 1;
    if (task.left === 0) task.onEnd();
  }
}

let queues: EndpointQueues | undefined;

// Settings, channel and width are the same in every task of a pool.
export default threadEntry(async (batch: AttemptBatch) => {
  queues ??= new EndpointQueues(batch);
  await queues.run(batch);
});
