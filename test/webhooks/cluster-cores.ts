/**
 * Cores of a cluster as webhooks see them: the same journals, counted by each in windows and shards of its own; one
 * delivery store, replicated by a log in memory; the core that leads has webhooks open. Management is one for all.
 */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { emptyPosition, type LogPosition } from '../../src/cluster/log/applier.ts';
import { EnvironmentStore } from '../../src/cluster/log/environment-store.ts';
import { Failure } from '../../src/model/failure.ts';
import { createIdSource } from '../../src/model/ids.ts';
import { Signal } from '../../src/model/signal.ts';
import type { AttemptTask } from '../../src/model/webhook.ts';
import { BlockNotes } from '../../src/cluster/scans/block-notes.ts';
import { Outbox } from '../../src/webhooks/outbox.ts';
import { type DeliveryTables, openDeliveryTables } from '../../src/store/delivery/delivery.ts';
import type { Management } from '../../src/store/management/management.ts';
import type { Replicator, StoredWrite } from '../../src/store/replicated-transactions.ts';
import { createLog } from '../../src/platform/log.ts';
import type { AttemptSender, SentResult } from '../../src/webhooks/attempt/attempt-sender.ts';
import type { Webhooks } from '../../src/webhooks/open-webhooks.ts';
import type { EngineHarness } from '../engine/counting/engine-harness.ts';
import { temporaryFolder, temporaryManagement } from '../store/temporary-management.ts';
import { TestClock } from '../support/fakes/test-clock.ts';
import { openBareEngine, openBareWebhooks, scansBy } from './bare-webhooks.ts';

const log = createLog('silent', { write: () => undefined });
/** Between two notes of where blocks end. */
export const noteMs = 10_000;

export class Core {
  readonly name: string;
  readonly engine: EngineHarness;
  readonly tables: DeliveryTables;
  readonly store: EnvironmentStore;
  readonly committed = new Signal();
  readonly marks: BlockNotes;
  /** Blocks up to here may expire, as webhooks have said here. */
  delivered = 0;
  webhooks: Webhooks | undefined;

  constructor(
    name: string,
    options: { shards: number; windowBytesMax: number },
    base: { clock: TestClock; management: Management; isLeading: () => boolean },
  ) {
    const { shards, windowBytesMax } = options;
    this.name = name;
    this.engine = openBareEngine(shards, { journals: 2, windowBytesMax });
    this.tables = openDeliveryTables(join(temporaryFolder(), 'delivery.mdb'), 'create');
    this.store = new EnvironmentStore(this.tables.environment);
    const scans = this.engine.store;
    this.marks = new BlockNotes({
      base: { ...base, log },
      scans,
      store: name,
      deliveries: this.tables,
      isLeading: base.isLeading,
    });
    onTestFinished(async () => {
      await this.tables.environment.close();
      await this.engine.close();
    });
  }

  /** Counts what it has, in so many windows of each shard at most. */
  count(windows = Number.MAX_SAFE_INTEGER): void {
    for (let shard = 0; shard < this.engine.shards.length; shard++) {
      for (let left = windows; left > 0 && this.engine.cycle(shard);) left -= 1;
    }
    this.committed.fire();
  }

  get blocks(): number[] {
    return [...this.engine.store.blocks.keys({})];
  }
}

export class Cluster {
  readonly clock: TestClock;
  readonly cores: readonly Core[];
  readonly management = temporaryManagement().store;
  readonly #ids;
  #position: LogPosition = emptyPosition;
  #notedMs = -Infinity;
  leader: Core | undefined;
  /** Entries that still get into the log before the leader dies. */
  entriesLeft = Number.MAX_SAFE_INTEGER;
  /** The leader's lease. */
  isHeld = true;
  /** Entries wait for it. */
  #brokers: Promise<void> = Promise.resolve();

  /** @param windowBytesMax a window reads the next journal while it has less */
  constructor(shards: readonly number[], windowBytesMax = 1) {
    this.clock = new TestClock();
    const { clock, management } = this;
    this.cores = shards.map((count, at): Core => {
      const base = { clock, management, isLeading: () => this.leader === core };
      const core = new Core(`core-${at}`, { shards: count, windowBytesMax }, base);
      return core;
    });
    this.#ids = createIdSource(this.clock, (into) => crypto.getRandomValues(into));
    for (const core of this.cores) {
      core.tables.environment.replicateWith(this.#replicatorOf(core));
    }
  }

  /** The log, of one core: it alone may write while it leads. */
  #replicatorOf(core: Core): Replicator {
    const check = (): void => {
      if (this.leader !== core) throw new Failure('not_active', 'another one leads');
    };
    const commit = async (writes: readonly StoredWrite[]): Promise<void> => {
      check();
      if (!(await this.append(writes))) check();
    };
    return { lapsed: new Signal(), check, commit };
  }

  /** The log takes nothing from here on. @returns lets it take what waits */
  holdLog(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#brokers = promise;
    return resolve;
  }

  /** @returns whether they are in the log */
  async append(writes: readonly StoredWrite[]): Promise<boolean> {
    await this.#brokers;
    this.entriesLeft -= 1;
    if (this.entriesLeft < 0) {
      this.leader = undefined;
      return false;
    }
    const after = this.#position;
    const seq = after.seq + 1;
    const position = { ...after, seq, epoch: 1, n: seq, chain: Buffer.from([seq >> 8, seq]) };
    this.#position = position;
    await Promise.all(this.cores.map(({ store }) => store.apply(writes, position)));
    if (this.entriesLeft === 0) this.leader = undefined;
    return true;
  }

  /** One frame of a journal, on all cores. @param counts scans of each code */
  scan(journal: number, counts: ReadonlyMap<number, number>): void {
    for (const { engine } of this.cores) {
      engine.nowMs = this.clock.now();
      engine.scan(journal, this.clock.now(), scansBy(counts));
    }
  }

  /** A core begins to lead. */
  async lead(core: Core, receivers: Receivers): Promise<Webhooks> {
    this.leader = core;
    const sender = receivers.sender(() => this.leader === core);
    this.entriesLeft = Number.MAX_SAFE_INTEGER;
    const { management, clock } = this;
    const ids = this.#ids;
    const webhooks = openBareWebhooks({
      file: core.tables.environment.path,
      cluster: {
        tables: core.tables,
        store: core.name,
        isHeld: () => this.leader === core && this.isHeld,
      },
      management,
      outbox: new Outbox(management, ids, clock),
      engine: core.engine,
      committed: core.committed,
      onDelivered: (block) => {
        core.delivered = block;
      },
      ids,
      clock,
      sender,
    });
    core.webhooks = webhooks;
    await webhooks.recover();
    return webhooks;
  }

  /** The leader dies, if it has not: nobody gets to know how its attempts ended. */
  async bury(core: Core, receivers: Receivers): Promise<void> {
    this.leader = undefined;
    receivers.lose();
    await core.webhooks?.close();
  }

  async #note(): Promise<void> {
    if (this.clock.now() - this.#notedMs < noteMs) return;
    this.#notedMs = this.clock.now();
    for (const { marks } of this.cores) await marks.tick();
  }

  /** Ticks and windows, until nothing more happens by itself. */
  async settle(ms = 1_200): Promise<void> {
    await this.#note();
    for (let passed = 0; passed < ms; passed += 100) {
      this.clock.move(100);
      if (this.leader === undefined) return;
      await this.leader.webhooks?.tick().catch((error: unknown) => {
        if (this.leader !== undefined) throw error;
      });
      await cycles(5);
    }
  }
}

async function cycles(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
}

/** What receivers got: they know everything that was ever sent, by event. */
export class Receivers {
  /** By endpoint and event: how often it came. */
  readonly counts = new Map<string, number>();
  /** Those that were refused: they come again. */
  readonly failed = new Set<string>();
  readonly faults: string[] = [];
  readonly #texts = new Map<string, string>();
  /** By endpoint and `webhook-id`. */
  readonly #bodies = new Map<string, string>();
  readonly #ends = new Map<string, (result: SentResult) => void>();
  #hanging: Array<() => void> = [];
  /** Of an attempt: its status, or `hang`. */
  answer: (task: AttemptTask) => number | 'hang' = () => 200;

  /** Of one core, for as long as it lives. */
  sender(isAlive: () => boolean): AttemptSender {
    return {
      send: (tasks, onResult) => {
        if (!isAlive()) return;
        for (const task of tasks) {
          this.#note(task);
          const answer = this.answer(task);
          const id = task.deliveryId;
          this.#ends.set(id, (result) => {
            this.#ends.delete(id);
            onResult(id, result);
          });
          const end = (status: number): void => {
            const failure = status < 300 ? {} : { failure: 'status' as const };
            if (isAlive()) this.#ends.get(id)?.({ atMs: 0, durationMs: 0, status, ...failure });
          };
          if (typeof answer === 'number' && answer >= 300) {
            for (const event of eventsIn(task.body)) {
              this.failed.add(`${task.endpointNo} ${event.id}`);
            }
          }
          if (answer === 'hang') this.#hanging.push(() => end(200));
          else setImmediate(() => end(answer));
        }
      },
      close: async () => undefined,
    };
  }

  #note({ endpointNo, eventId, body }: AttemptTask): void {
    const request = `${endpointNo} ${eventId}`;
    const before = this.#bodies.get(request);
    if (before !== undefined && before !== body) {
      this.faults.push(`the webhook-id ${eventId} names two contents`);
    }
    this.#bodies.set(request, body);
    for (const event of eventsIn(body)) {
      const text = JSON.stringify(event);
      const key = `${endpointNo} ${event.id}`;
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
      const known = this.#texts.get(event.id);
      if (known !== undefined && known !== text) this.faults.push(`${event.id} has other bytes`);
      this.#texts.set(event.id, text);
    }
  }

  lose(): void {
    this.#hanging = [];
    for (const end of this.#ends.values()) end('unknown');
  }

  endHanging(): void {
    for (const end of this.#hanging.splice(0)) end();
  }
}

function eventsIn(body: string): Array<{ readonly id: string }> {
  const parsed: unknown = JSON.parse(body);
  // What was sent: an event, or a list of them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return [parsed].flat() as Array<{ readonly id: string }>;
}
