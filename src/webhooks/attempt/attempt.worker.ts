/**
 * Thread entry of webhook attempts. Each endpoint has a queue: its attempts start in order, up to its own limit in
 * flight. After five failures in a row, or a 410, the queue returns its unstarted attempts, and those that still
 * arrive, until the sender recalls it: nothing overtakes. Then the scheduler continues with one at a time.
 *
 * A pool task ends when all its attempts have ended and their results are posted, those of 2 ms in one message.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { EndpointNo } from '../../model/numbers.ts';
import type { AttemptRecord, AttemptSettings, AttemptTask } from '../../model/webhook.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { threadEntry } from '../../platform/workers/entry.ts';
import { statusGone } from '../deliveries/delivery.ts';
import { failuresMax } from '../dispatch/fair-scheduler.ts';
import { Attempts } from './attempt.ts';
import { openNameLookup } from './name-lookup.ts';

// undici creates an error for each header above the limit, thousands a chunk; their stacks would cost 90 ms.
Error.stackTraceLimit = 0;

/** Waking the control thread costs more than the results: they wait while their queue has more to start. */
const postMs = 2;

export interface AttemptBatch {
  readonly settings: AttemptSettings;
  readonly widthMax: number;
  readonly channel: string;
  /** Identifies the pool task in its results. */
  readonly no: number;
  /** Returns this endpoint's unstarted attempts first; an end without an index confirms that. */
  readonly recalled: EndpointNo | undefined;
  readonly attempts: readonly AttemptTask[];
}

/** The end of an attempt. A message of the channel has several, in order of arrival. */
export interface AttemptEnd {
  readonly no: number;
  /** Of the attempt in its batch; undefined: the recalled attempts are returned. */
  readonly index: number | undefined;
  /** Undefined if not started. */
  readonly attempt: AttemptRecord | undefined;
}

class ResultChannel {
  readonly #channel: BroadcastChannel;
  #results: AttemptEnd[] = [];
  /** A post is due at the end of this event loop cycle. */
  #isPosting = false;

  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.unref();
  }

  /** @param isAwaited its endpoint has nothing left to start */
  add(result: AttemptEnd, { isAwaited }: { readonly isAwaited: boolean }): void {
    if (this.#results.push(result) === 1) setTimeout(() => this.post(), postMs);
    if (!isAwaited || this.#isPosting) return;
    this.#isPosting = true;
    setImmediate(() => {
      this.#isPosting = false;
      this.post();
    });
  }

  post(): void {
    if (this.#results.length === 0) return;
    this.#channel.postMessage(this.#results);
    this.#results = [];
  }
}

interface Task {
  readonly no: number;
  left: number;
  readonly onEnd: () => void;
}

interface Queued {
  readonly attempt: AttemptTask;
  readonly task: Task;
  readonly index: number;
}

interface EndpointQueue {
  readonly endpointNo: EndpointNo | undefined;
  attempts: Queued[];
  next: number;
  inFlight: number;
  failuresInRow: number;
  /** Returns all arriving attempts until it is recalled. */
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

  async run({ no, recalled, attempts }: AttemptBatch): Promise<void> {
    if (recalled !== undefined) {
      this.#recall(recalled);
      this.#results.add({ no, index: undefined, attempt: undefined }, { isAwaited: true });
    }
    if (attempts.length > 0) {
      await new Promise<void>((resolve) => {
        const task = { no, left: attempts.length, onEnd: resolve };
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
    // A queue with failures keeps its count.
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
    this.#results.add({ no: task.no, index, attempt }, when);
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
