/** The receivers: attempts hang until the run decides how they end. They know everything that was ever sent. */
import type { AttemptRecord, AttemptTask } from '../../../src/model/webhook.ts';
import type { AttemptSender, OnResult } from '../../../src/webhooks/attempt/attempt-sender.ts';
import type { JournaledResult } from '../../../src/store/delivery/result-journal.ts';
import type { TestClock } from '../../support/fakes/test-clock.ts';

export interface Received {
  readonly task: AttemptTask;
  readonly text: string;
  /** Order of its first attempt among all. */
  readonly order: number;
  /** Answers that were given, with the number of the attempt; the process may have died before them. */
  readonly answers: Array<{ readonly attempt: number; readonly status: number }>;
}

interface Hanging {
  readonly task: AttemptTask;
  readonly end: OnResult;
}

export class Receiver {
  readonly received = new Map<string, Received>();
  /** Results that stand in the result journal, as `id:attempt`. */
  readonly journaled = new Set<string>();
  readonly journaledSuccess = new Set<string>();
  readonly faults: string[] = [];
  #hanging: Hanging[] = [];
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  get hanging(): number {
    return this.#hanging.length;
  }

  note(results: readonly JournaledResult[]): void {
    for (const { deliveryId, attemptNo, attempt } of results) {
      this.journaled.add(`${deliveryId}:${attemptNo}`);
      if (attempt.failure === undefined) this.journaledSuccess.add(deliveryId);
    }
  }

  /** Of one process. */
  sender(isAlive: () => boolean): AttemptSender {
    return {
      send: (tasks, end) => {
        if (!isAlive()) return;
        for (const task of tasks) this.#receive(task, end);
      },
      close: async () => undefined,
    };
  }

  #receive(task: AttemptTask, end: OnResult): void {
    const { deliveryId: id, attempt } = task;
    const text = Buffer.from(task.body).toString();
    const known = this.received.get(id);
    if (this.#hanging.some(({ task: other }) => other.deliveryId === id)) {
      this.faults.push(`${id} is sent while it is in flight`);
    }
    if (this.journaledSuccess.has(id))
      this.faults.push(`${id} is sent again after it was delivered`);
    else if (this.journaled.has(`${id}:${attempt}`)) {
      this.faults.push(`${id}: attempt ${attempt} has a result in the journal, and is repeated`);
    }
    if (known === undefined) {
      const order = this.received.size;
      this.received.set(id, { task, text, order, answers: [] });
    } else {
      if (known.text !== text) this.faults.push(`${id} has other bytes: ${known.text} | ${text}`);
      if (known.task.endpointNo !== task.endpointNo || known.task.eventId !== task.eventId) {
        this.faults.push(`${id} has another endpoint or event`);
      }
    }
    this.#hanging.push({ task, end });
  }

  /** Ends the attempt at a place of those that hang. @param statusOf 0 = its thread died, -1 = it was not sent */
  answer(at: number, statusOf: (task: AttemptTask) => number): void {
    const [ended] = this.#hanging.splice(at, 1);
    if (ended === undefined) return;
    const { task, end } = ended;
    const status = statusOf(task);
    if (status > 0) {
      this.received.get(task.deliveryId)?.answers.push({ attempt: task.attempt, status });
    }
    end(task.deliveryId, status > 0 ? this.#attempt(status) : status === 0 ? 'unknown' : 'unsent');
  }

  /** The process died: some of what was in flight was answered, and no process got that. */
  lose(statusOf: (task: AttemptTask) => number): void {
    for (const { task } of this.#hanging.splice(0)) {
      const status = statusOf(task);
      if (status > 0)
        this.received.get(task.deliveryId)?.answers.push({ attempt: task.attempt, status });
    }
  }

  #attempt(status: number): AttemptRecord {
    const base = { atMs: this.#clock.now(), durationMs: 0, status };
    return status < 300 ? base : { ...base, failure: 'status' };
  }

  hasSuccess(id: string): boolean {
    return this.received.get(id)?.answers.some(({ status }) => status < 300) === true;
  }
}
