/** A replicator over a log in memory, in virtual time: lease 10 s, a beat every 4 s. Times are milliseconds since its start. */
import type { ReplicatedStore } from '../../../src/cluster/log/apply-queue.ts';
import { emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import type { LogReader, Reading } from '../../../src/cluster/log/ordered-log.ts';
import {
  LogReplicator,
  type LogReplicatorOptions,
  type Stop,
} from '../../../src/cluster/log/replicator.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';
import { FaultyLog, noFaults } from './faulty-log.ts';
import { MemoryStream } from './memory-log.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';
import { LogWriter } from './log-writer.ts';

/** A faulty log that keeps what is appended, and what it reads while it is held. */
class HeldLog extends FaultyLog {
  readonly sent: Uint8Array[] = [];
  #held: Array<() => void> | undefined;

  override append(body: Uint8Array): Promise<number> {
    this.sent.push(body);
    return super.append(body);
  }

  override follow(from: number, reader: LogReader): Reading {
    let isStopped = false;
    const reading = super.follow(from, {
      entry: (seq, body, atMs) => {
        const bring = (): void => (isStopped ? undefined : reader.entry(seq, body, atMs));
        if (this.#held === undefined) bring();
        else this.#held.push(bring);
      },
      ended: (error) => reader.ended(error),
    });
    return {
      stop: () => {
        isStopped = true;
        reading.stop();
      },
    };
  }

  holdReading(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const bring of held) bring();
  }
}

class TestStore implements ReplicatedStore {
  stored: LogPosition = emptyPosition;
  /** Of each transaction. */
  readonly applied: Array<readonly StoredWrite[]> = [];
  /** Why nothing can be stored. */
  error: Error | undefined;
  #held: Array<() => void> | undefined;

  position(): LogPosition {
    return this.stored;
  }

  apply(writes: readonly StoredWrite[], position: LogPosition, after: LogPosition): Promise<void> {
    return new Promise((resolve, reject) => {
      const store = (): void => {
        const isNext = Buffer.compare(after.chain, this.stored.chain) === 0;
        if (this.error !== undefined || !isNext) {
          reject(this.error ?? new Error('it does not follow'));
          return;
        }
        this.stored = position;
        if (writes.length > 0) this.applied.push(writes);
        resolve();
      };
      if (this.#held === undefined) store();
      else this.#held.push(store);
    });
  }

  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const store of held) store();
  }
}

export class ReplicatorFixture {
  readonly time = new VirtualTime();
  readonly #startMs = this.time.nowMs;
  readonly stream = new MemoryStream();
  readonly store = new TestStore();
  readonly events: string[] = [];
  readonly stops: Stop[] = [];
  log!: HeldLog;
  replicator!: LogReplicator;
  readonly #owner: string;

  constructor(owner = 'self') {
    this.#owner = owner;
  }

  start(options: Partial<LogReplicatorOptions> = {}): void {
    const { later } = this.time;
    const owner = this.#owner;
    this.log = new HeldLog({ stream: this.stream, random: () => 0, later });
    this.replicator = new LogReplicator({
      log: this.log,
      store: this.store,
      self: { owner, url: `http://${owner}`, version: '1' },
      timers: { monotonicMs: () => this.time.nowMs, after: later },
      random: () => 0,
      leaseMs: 10_000,
      beatMs: 4_000,
      onLeading: () => this.events.push('leading'),
      onDeposed: () => this.events.push('deposed'),
      onStopped: (stop) => this.stops.push(stop),
      ...options,
    });
    this.replicator.start();
  }

  get nowMs(): number {
    return this.time.nowMs - this.#startMs;
  }

  /** Also what is resolved now runs. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.time.nowMs + ms;
    this.time.later(0, () => undefined);
    await this.time.run(untilMs);
  }

  /** It leads the next epoch. */
  async leading(options: Partial<LogReplicatorOptions> = {}): Promise<void> {
    this.start(options);
    await this.pass(10_500);
    await this.pass(1);
  }

  /** Appends what another machine writes that has applied what this one has. */
  get other(): LogWriter {
    const { epoch, n, chain } = this.replicator.status.position;
    return Object.assign(new LogWriter(), { epoch, n, chain });
  }

  append(...bodies: Uint8Array[]): void {
    for (const body of bodies) this.stream.append(body);
  }

  /** Appends are lost, and refused at once. */
  refuseAppends(): void {
    this.log.faults = { ...noFaults, lostAppend: 1 };
  }

  acceptAppends(): void {
    this.log.faults = noFaults;
  }
}

/** Whether it has settled, and how. */
export function watched(promise: Promise<unknown>): { state: unknown } {
  const outcome: { state: unknown } = { state: 'waits' };
  const settled = (state: unknown): void => {
    outcome.state = state;
  };
  promise.then(
    () => settled('done'),
    (error: unknown) => settled(error),
  );
  return outcome;
}
