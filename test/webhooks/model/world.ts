/** Webhooks on their stores, as a process has them: opened on what is on the disk, killed by it, and opened again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIdSource, type IdPrefix } from '../../../src/model/ids.ts';
import { Signal } from '../../../src/model/signal.ts';
import { Outbox } from '../../../src/webhooks/outbox.ts';
import {
  deliveryTables,
  type DeliveryTables,
  openDeliveryTables,
} from '../../../src/store/delivery/delivery.ts';
import { type Management, openManagement } from '../../../src/store/management/management.ts';
import { openMeta } from '../../../src/store/open-environment.ts';
import type { Webhooks } from '../../../src/webhooks/open-webhooks.ts';
import { Random } from '../../torture/random.ts';
import type { EngineHarness } from '../../engine/counting/engine-harness.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { openBareEngine, openBareWebhooks, scansBy } from '../bare-webhooks.ts';
import { cycle, Disk, Killed } from './disk.ts';
import { FakeTimers } from './fake-timers.ts';
import { Receiver } from './receiver.ts';

const workspaceNo = 1;

export class World {
  readonly random: Random;
  readonly clock = new TestClock();
  readonly disk: Disk;
  readonly engine: EngineHarness;
  readonly receiver: Receiver;
  readonly timers: FakeTimers;
  /** Ids of deliveries that are not of an outbox: a person sent them again. */
  readonly sentByHand = new Set<string>();
  /** Scans up to this block may expire. */
  deliveredBlock = 0;
  readonly #root = mkdtempSync(join(tmpdir(), 'quietzone-model-'));
  readonly #blocks = new Signal();
  readonly #ids;
  readonly #closers: Array<() => Promise<void>> = [];
  readonly #keptMax: number;
  /** Of the process that runs. */
  management!: Management;
  webhooks!: Webhooks;
  outbox!: Outbox;
  tables!: DeliveryTables;

  constructor(seed: number) {
    this.random = new Random(seed);
    const bytes = this.random.fork();
    const ids = createIdSource(this.clock, (into) => {
      for (let at = 0; at < into.length; at++) into[at] = bytes.between(0, 256);
      return into;
    });
    this.#ids = {
      newId: (prefix: IdPrefix): string => {
        const id = ids.newId(prefix);
        if (prefix === 'dlv') this.sentByHand.add(id);
        return id;
      },
    };
    this.#keptMax = this.random.pick([20, 100_000]);
    this.engine = openBareEngine(1);
    this.receiver = new Receiver(this.clock);
    this.timers = new FakeTimers(this.clock);
    this.disk = new Disk({
      root: this.#root,
      random: this.random.fork(),
      onJournaled: (results) => this.receiver.note(results),
    });
  }

  get isLogWhole(): boolean {
    return this.#keptMax > 1_000;
  }

  async make(): Promise<void> {
    await openManagement(join(this.disk.folder, 'management.mdb'), 'create').close();
    await openDeliveryTables(join(this.disk.folder, 'delivery.mdb'), 'create').environment.close();
  }

  /** @returns whether the process lives */
  open(): boolean {
    const { clock, disk, random } = this;
    const own = disk.folder;
    try {
      const management = openManagement(join(own, 'management.mdb'));
      this.#closers.push(() => management.close());
      this.management = management;
      this.outbox = new Outbox(management, this.#ids, clock);
      const webhooks = openBareWebhooks({
        file: join(own, 'delivery.mdb'),
        management,
        outbox: this.outbox,
        engine: this.engine,
        committed: this.#blocks,
        onDelivered: (block) => {
          if (disk.folder === own && !disk.isDead) this.deliveredBlock = block;
        },
        ids: this.#ids,
        clock,
        inFlightMax: random.pick([3, 12, 64]),
        deliveriesKept: this.#keptMax,
        sender: this.receiver.sender(() => disk.folder === own && !disk.isDead),
      });
      // Closing it again is harmless.
      this.#closers.push(() => webhooks.environment.close());
      this.webhooks = webhooks;
      this.tables = deliveryTables(webhooks.environment, openMeta(webhooks.environment));
      return !disk.isDead;
    } catch (error) {
      if (error instanceof Killed) return false;
      throw error;
    }
  }

  /** The process is dead: what is on the disk is all that the next one has. */
  bury(statusOf: Parameters<Receiver['lose']>[0]): void {
    void this.webhooks?.stop();
    this.timers.clear();
    this.receiver.lose(statusOf);
    this.disk.next();
    this.clock.move(1 + this.random.between(0, 2_000));
  }

  /** Time passes; what is due happens. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left >= 0;) {
      const moved = this.timers.runNext(left);
      if (moved === undefined) {
        this.clock.move(left);
        break;
      }
      left -= moved;
      await this.cycles(this.random.between(1, 6));
    }
    await this.cycles(2);
  }

  async cycles(count: number): Promise<void> {
    for (let left = count; left > 0; left--) await cycle();
  }

  async emit(count: number, kinds: readonly ('qr.created' | 'qr.deleted')[]): Promise<void> {
    const { environment } = this.management;
    await environment.transaction(() => {
      for (let left = count; left > 0; left--) {
        const data = { id: `qr_${left}`, deletedBy: 'usr_1' };
        this.outbox.append(this.random.pick(kinds), workspaceNo, data, this.clock.now());
      }
    });
  }

  /** One window. @param counts scans of each code */
  scan(counts: ReadonlyMap<number, number>): void {
    this.engine.nowMs = this.clock.now();
    this.engine.scan(0, this.clock.now(), scansBy(counts));
    while (this.engine.cycle(0));
    this.#blocks.fire();
  }

  async close(): Promise<void> {
    this.disk.kill();
    void this.webhooks?.stop();
    this.timers.clear();
    await this.cycles(20);
    this.timers.restore();
    this.disk.close();
    for (const closer of this.#closers) await closer();
    await this.engine.close();
    rmSync(this.#root, { recursive: true, force: true });
  }
}
