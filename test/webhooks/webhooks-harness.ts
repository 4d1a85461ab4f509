/**
 * Webhooks of a test application with a fake clock and a scripted sender: a test sees what is sent, chooses what comes
 * back, moves the time, and restarts with one call.
 */
import { onTestFinished } from 'vitest';
import type { AttemptRecord, AttemptTask, EndpointRecord } from '../../src/model/webhook.ts';
import type {
  AttemptSender,
  OnResult,
  SentResult,
} from '../../src/webhooks/attempt/attempt-sender.ts';
import type { NewEndpoint } from '../../src/webhooks/endpoints/endpoints.ts';
import type { Webhooks } from '../../src/webhooks/open-webhooks.ts';
import { openTestApp, type TestApp } from '../support/test-app.ts';
import type { TestAppOptions } from '../support/test-app-options.ts';
import { TestClock } from '../support/fakes/test-clock.ts';
import { eventually } from '../support/soon.ts';

export const delaysMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];
const workspaceNo = 1;

export interface Sent extends AttemptTask {
  /** When it was handed over, by the time since the start of the test. */
  readonly atMs: number;
}

/** The result: a status, or a class of failure. */
export type Answer = number | Partial<AttemptRecord> | 'hang' | 'unknown';

class ScriptedSender implements AttemptSender {
  readonly sent: Sent[] = [];
  answer: (task: Sent) => Answer = () => 200;
  readonly #time: TestClock;
  readonly #hanging = new Map<string, { readonly sent: Sent; readonly end: OnResult }>();
  #answering = 0;

  constructor(time: TestClock) {
    this.#time = time;
  }

  /** Every answer has been given. */
  get isQuiet(): boolean {
    return this.#answering === 0;
  }

  send(tasks: readonly AttemptTask[], onResult: OnResult): void {
    for (const task of tasks) {
      const sent = { ...task, atMs: this.#time.monotonicMs() };
      this.sent.push(sent);
      const answer = this.answer(sent);
      if (answer === 'hang') this.#hanging.set(task.deliveryId, { sent, end: onResult });
      else this.#later(() => onResult(task.deliveryId, this.#attempt(answer)));
    }
  }

  /** Endpoints whose attempts were recalled; here all have been started. */
  readonly recalled = new Set<number>();

  recall(endpointNo: number): void {
    this.recalled.add(endpointNo);
  }

  /** Ends attempts that hang. @param which those, or so many, the oldest; default: all */
  end(
    answer: Exclude<Answer, 'hang'>,
    which: number | ((sent: Sent) => boolean) = Number.MAX_SAFE_INTEGER,
  ): void {
    const hanging = [...this.#hanging];
    const ending =
      typeof which === 'number'
        ? hanging.slice(0, which)
        : hanging.filter(([, { sent }]) => which(sent));
    for (const [id, { end }] of ending) {
      this.#hanging.delete(id);
      end(id, this.#attempt(answer));
    }
  }

  async close(): Promise<void> {
    this.#hanging.clear();
  }

  #later(work: () => void): void {
    this.#answering += 1;
    setImmediate(() => {
      this.#answering -= 1;
      work();
    });
  }

  #attempt(answer: Exclude<Answer, 'hang'>): SentResult {
    if (answer === 'unknown') return answer;
    const base = { atMs: this.#time.now(), durationMs: 0 };
    if (typeof answer !== 'number') return { ...base, ...answer };
    const isSuccess = answer >= 200 && answer < 300;
    return { ...base, status: answer, ...(isSuccess ? {} : { failure: 'status' }) };
  }
}

export interface HarnessSettings {
  readonly retryDelaysMs?: readonly number[];
  readonly deliveriesKept?: number;
}

export class Harness {
  readonly time: TestClock;
  app: TestApp;
  sender: ScriptedSender;
  webhooks: Webhooks;

  constructor(app: TestApp, time: TestClock, sender: ScriptedSender) {
    this.app = app;
    this.time = time;
    this.sender = sender;
    this.webhooks = app.webhooks;
  }

  get deliveries(): Webhooks['deliveries'] {
    return this.webhooks.deliveries;
  }
  get endpoints(): Webhooks['endpoints'] {
    return this.webhooks.endpoints;
  }

  async endpoint(created: Partial<NewEndpoint> = {}): Promise<EndpointRecord> {
    const url = 'https://receiver.example/hook';
    const wanted: NewEndpoint = { url, events: ['*'], maxBatch: 100, ...created };
    const actor = { workspaceNo, userId: 'usr_00000000000000000001' };
    return (await this.endpoints.create(actor, wanted)).endpoint;
  }

  /** Commits events as their causes would. */
  async emit(count = 1): Promise<string[]> {
    return await this.app.store.environment.transaction(() =>
      Array.from({ length: count }, (_, index) => {
        const data = { id: `qr_${index}`, deletedBy: 'usr_1' };
        return this.app.outbox.append('qr.deleted', workspaceNo, data, this.time.now()).id;
      }),
    );
  }

  /** Commits events, and settles. */
  async happen(count = 1): Promise<string[]> {
    const ids = await this.emit(count);
    await this.settle();
    return ids;
  }

  /** Settles, or lets time pass, until it is so. */
  async until(isSo: () => boolean, what: string, ms = 0): Promise<void> {
    await eventually(async () => {
      await this.pass(ms);
      return isSo();
    }, what);
  }

  /** Ticks, and waits until everything that follows has happened. */
  async settle(): Promise<void> {
    // Consumers are woken once a second, every tenth tick.
    for (let round = 0; round < 11; round++) await this.webhooks.tick();
    await this.#quiet();
    await this.webhooks.tick();
    await this.#quiet();
  }

  /** Time passes in steps, each of them a tick. */
  async pass(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.time.move(Math.min(stepMs, ms - passed));
      await this.webhooks.tick();
      await this.#quiet();
    }
    await this.settle();
  }

  /**
   * A new process on what is committed; the results of what was in flight are lost.
   * @param between called after the old one has ended, before webhooks are opened
   */
  async crash(between: () => void = () => undefined): Promise<void> {
    await this.stop();
    this.sender = new ScriptedSender(this.time);
    this.app = await this.app.restart({ sender: this.sender });
    between();
    this.webhooks = this.app.webhooks;
    await this.webhooks.recover();
    stopsWithTest(this);
  }

  /** Stops as the process does; attempts that hang have an unknown result. */
  async stop(): Promise<void> {
    const stopped = this.webhooks.stop();
    this.sender.end('unknown');
    await stopped;
  }

  async #quiet(): Promise<void> {
    for (let calm = 0; calm < 3;) {
      await new Promise((resolve) => setImmediate(resolve));
      calm = this.webhooks.isQuiet && this.sender.isQuiet ? calm + 1 : 0;
    }
  }
}

/** Before the application is closed, which waits for what hangs. */
const stopsWithTest = (harness: Harness): void => onTestFinished(async () => await harness.stop());

/** Ends with the test. */
export async function openHarness(
  settings: HarnessSettings = {},
  more: Pick<TestAppOptions, 'scanned'> = {},
): Promise<Harness> {
  const clock = new TestClock();
  const sender = new ScriptedSender(clock);
  const { retryDelaysMs = delaysMs, deliveriesKept = 1_000 } = settings;
  const environment = {
    QZ_WEBHOOKS_RETRY_DELAYS_MS: retryDelaysMs.join(','),
    QZ_WEBHOOKS_DELIVERIES_KEPT: String(deliveriesKept),
  };
  const app = await openTestApp({ ...more, clock, sender, environment, attemptsMax: 64 });
  const harness = new Harness(app, clock, sender);
  stopsWithTest(harness);
  return harness;
}

/** With an endpoint for everything that answers so. */
export async function openListening(answer: Answer = 200, settings: HarnessSettings = {}) {
  const harness = await openHarness(settings);
  const { no, id } = await harness.endpoint();
  harness.sender.answer = () => answer;
  return { harness, no, id };
}
