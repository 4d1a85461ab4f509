/**
 * Webhooks on a real store with a fake clock and a scripted sender: a test sees what is sent, chooses what comes back,
 * moves the time, and restarts with one call.
 */
import { getRandomValues } from 'node:crypto';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock, SteadyClock } from '../../src/model/clock.ts';
import { createIdSource, type IdSource } from '../../src/model/ids.ts';
import type { AttemptRecord, AttemptTask, EndpointRecord } from '../../src/model/webhook.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import type { OnResult, AttemptSender } from '../../src/webhooks/attempt/attempt-sender.ts';
import type { NewEndpoint } from '../../src/webhooks/endpoints/endpoints.ts';
import {
  openWebhooks,
  type Webhooks,
  type WebhooksOptions,
} from '../../src/webhooks/open-webhooks.ts';
import { temporaryManagement, type TemporaryManagement } from '../store/temporary-management.ts';

export const delaysMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];
export const startMs = Date.UTC(2026, 2, 4, 5, 6, 7, 8);
const workspaceNo = 1;

/** Wall, monotonic and boot time; the wall can step, the others only go on. */
export class TestTime implements Clock, SteadyClock {
  bootId = 'boot-1';
  #wallMs = startMs;
  #steadyMs = 1_000;

  now(): number {
    return this.#wallMs;
  }
  monotonicMs(): number {
    return this.#steadyMs;
  }
  sinceBootMs(): number {
    return this.#steadyMs;
  }
  /** Time passes. */
  move(ms: number): void {
    this.#wallMs += ms;
    this.#steadyMs += ms;
  }
  /** The wall clock is set. */
  step(ms: number): void {
    this.#wallMs += ms;
  }
  /** The machine starts again after `offMs`. */
  reboot(offMs: number): void {
    this.bootId += '+';
    this.#wallMs += offMs;
    this.#steadyMs = 10;
  }
}

export interface Sent extends AttemptTask {
  /** When it was handed over, by the time since the start of the test. */
  readonly atMs: number;
  readonly text: string;
}

/** The result: a status, or a class of failure. */
export type Answer = number | Partial<AttemptRecord> | 'hang' | 'unknown';

class ScriptedSender implements AttemptSender {
  readonly sent: Sent[] = [];
  answer: (task: Sent) => Answer = () => 200;
  readonly #time: TestTime;
  readonly #hanging = new Map<number, OnResult>();
  #answering = 0;
  /** Most at once, by URL. */
  readonly widest = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();

  constructor(time: TestTime) {
    this.#time = time;
  }

  /** Every answer has been given. */
  get isQuiet(): boolean {
    return this.#answering === 0;
  }

  get hanging(): number {
    return this.#hanging.size;
  }

  send(tasks: readonly AttemptTask[], onResult: OnResult): void {
    for (const task of tasks) {
      const text = Buffer.from(task.body).toString();
      const sent = { ...task, atMs: this.#time.monotonicMs(), text };
      this.sent.push(sent);
      this.#count(task.url, 1);
      const answer = this.answer(sent);
      const end: OnResult = (no, attempt) => {
        this.#count(task.url, -1);
        onResult(no, attempt);
      };
      if (answer === 'hang') this.#hanging.set(task.deliveryNo, end);
      else this.#later(() => end(task.deliveryNo, this.#attempt(answer)));
    }
  }

  /** Ends attempts that hang. */
  end(answer: Exclude<Answer, 'hang'>, count = Number.MAX_SAFE_INTEGER): void {
    for (const [no, end] of [...this.#hanging].slice(0, count)) {
      this.#hanging.delete(no);
      end(no, this.#attempt(answer));
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

  #attempt(answer: Exclude<Answer, 'hang'>): AttemptRecord | undefined {
    if (answer === 'unknown') return undefined;
    const base = { atMs: this.#time.now(), durationMs: 0 };
    if (typeof answer !== 'number') return { ...base, ...answer };
    const isSuccess = answer >= 200 && answer < 300;
    return { ...base, status: answer, ...(isSuccess ? {} : { failure: 'status' }) };
  }

  #count(url: string, by: number): void {
    const inFlight = (this.#inFlight.get(url) ?? 0) + by;
    this.#inFlight.set(url, inFlight);
    this.widest.set(url, Math.max(this.widest.get(url) ?? 0, inFlight));
  }
}

export type HarnessSettings = Partial<WebhooksOptions['settings']>;

export class Harness {
  readonly time = new TestTime();
  readonly temporary: TemporaryManagement = temporaryManagement();
  readonly ids: IdSource = createIdSource(this.time, getRandomValues);
  readonly outbox = new Outbox(this.temporary.store, this.ids, this.time);
  readonly logLines: string[] = [];
  readonly #open: (harness: Harness) => Webhooks;
  metrics = createMetrics();
  sender = new ScriptedSender(this.time);
  webhooks: Webhooks;

  constructor(settings: HarnessSettings, more: Partial<WebhooksOptions>) {
    this.#open = (harness) => openWebhooks({ ...partsOf(harness, settings), ...more });
    this.webhooks = this.#open(this);
  }

  async endpoint(created: Partial<NewEndpoint> = {}): Promise<EndpointRecord> {
    const url = 'https://receiver.example/hook';
    const wanted: NewEndpoint = { url, events: ['*'], maxBatch: 100, ...created };
    const actor = { workspaceNo, userId: 'usr_00000000000000000001' };
    return (await this.webhooks.endpoints.create(actor, wanted)).endpoint;
  }

  /** Commits events as their causes would. */
  async emit(count = 1): Promise<string[]> {
    return await this.temporary.store.environment.transaction(() =>
      Array.from({ length: count }, (_, index) => {
        const data = { id: `qr_${index}`, deletedBy: 'usr_1' };
        return this.outbox.append('qr.deleted', workspaceNo, data, this.time.now()).id;
      }),
    );
  }

  /** Ticks, and waits until everything that follows has happened. */
  async settle(): Promise<void> {
    // Followers are ready by the tick of the second.
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
   * @param between called after the old one has ended
   */
  async crash(between: () => void = () => undefined): Promise<void> {
    await this.close();
    between();
    this.sender = new ScriptedSender(this.time);
    this.metrics = createMetrics();
    this.webhooks = this.#open(this);
  }

  async close(): Promise<void> {
    const stopped = this.webhooks.stop();
    this.sender.end('unknown');
    await stopped;
    await this.webhooks.close();
  }

  async #quiet(): Promise<void> {
    for (let calm = 0; calm < 3;) {
      await new Promise((resolve) => setImmediate(resolve));
      calm = this.webhooks.isQuiet && this.sender.isQuiet ? calm + 1 : 0;
    }
  }
}

/** Ends with the test. */
export function openHarness(
  settings: HarnessSettings = {},
  more: Partial<WebhooksOptions> = {},
): Harness {
  const harness = new Harness(settings, more);
  onTestFinished(async () => await harness.close());
  return harness;
}

const createMetrics = (): Metrics =>
  new Metrics((metric, error) => {
    throw new Error(metric, { cause: error });
  });

function partsOf(harness: Harness, settings: HarnessSettings): WebhooksOptions {
  const { time, ids, temporary, outbox, sender, metrics, logLines } = harness;
  return {
    file: join(temporary.folder, 'delivery.mdb'),
    management: temporary.store,
    outbox,
    ids,
    clock: time,
    steady: time,
    randomBytes: getRandomValues,
    random: () => 0.5,
    cipher: { encrypt: (text) => text, decrypt: (text) => text },
    settings: {
      threads: 1,
      retryDelaysMs: delaysMs,
      inFlightMax: 64,
      perEndpointInFlightMax: 16,
      deliveriesKept: 1_000,
      deadLetterDays: 7,
      timeoutMs: 15_000,
      allowNetworks: ['127.0.0.0/8'],
      docsUrl: 'http://localhost/docs',
      ...settings,
    },
    log: createLog('debug', { write: (line) => void logLines.push(line) }),
    metrics,
    sender,
  };
}
