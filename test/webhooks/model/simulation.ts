/**
 * A run of one seed: endpoints, events, scans, answers, replays and time, in an order that nobody would choose, and a process
 * that dies again and again. After each start, and now and then, everything that must be true is checked (checks.ts).
 */
import type { EventKind } from '../../../src/model/event.ts';
import { Failure } from '../../../src/model/failure.ts';
import type { AttemptTask, EndpointRecord } from '../../../src/model/webhook.ts';
import { check, orderFaults } from './checks.ts';
import { Killed } from './disk.ts';
import { World } from './world.ts';

const kinds = ['qr.created', 'qr.deleted'] as const;
const subscriptions: ReadonlyArray<readonly (EventKind | '*')[]> = [
  ['*'],
  ['qr.created'],
  ['qr.scanned'],
  ['qr.created', 'qr.deleted'],
  ['qr.scanned', 'qr.deleted'],
];
const endpointsMax = 5;
/** Of a stop: longer than everything that it waits for. */
const stopMsMax = 60_000;
/** Rounds until everything is settled. */
const endRoundsMax = 4_000;
/** Positions are stored every 10 s, where nothing else is. */
const savesMax = 10;
const userId = 'usr_00000000000000000001';

class Simulation {
  readonly world: World;
  readonly faults: string[] = [];
  readonly #healths = new Map<number, number>();
  readonly #replayed = new Set<string>();
  readonly trace: string[] = [];
  starts = 0;
  step = 0;

  constructor(seed: number) {
    this.world = new World(seed);
  }

  async run(steps: number): Promise<void> {
    const { world } = this;
    await world.make();
    await this.#open();
    await this.#live(() => this.#create());
    for (this.step = 1; this.step <= steps && this.faults.length === 0; this.step++) {
      await this.#live(this.#action());
      if (!world.disk.isDead) await this.#live(() => world.cycles(world.random.between(0, 4)));
      this.#note(world.receiver.faults.splice(0));
    }
    if (this.faults.length === 0) await this.#end();
  }

  #note(faults: readonly string[]): void {
    for (const fault of faults)
      this.faults.push(`step ${this.step}, start ${this.starts}: ${fault}`);
  }

  /** Runs something, unless the process dies; then another is started. */
  async #live(action: () => Promise<unknown>): Promise<void> {
    const { disk } = this.world;
    try {
      await Promise.race([action(), disk.killed]);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
    if (!disk.isDead) return;
    this.trace.push(`${this.step} killed`);
    await this.#restart();
  }

  async #restart(): Promise<void> {
    this.world.bury((task) => this.#statusOf(task));
    await this.#open();
  }

  async #open(): Promise<void> {
    const { world } = this;
    const { disk, random } = world;
    for (;;) {
      this.starts += 1;
      disk.writesLeft = random.pick([3, 10, 40, 120, 400]) - random.between(0, 3);
      if (await this.#start()) return;
      this.trace.push(`${this.step} killed in its start`);
      world.bury(() => 200);
    }
  }

  /** @returns whether the process lives */
  async #start(): Promise<boolean> {
    const { world } = this;
    if (!world.open()) return false;
    this.#note(check(world, 'any time'));
    // Where results cannot be recovered, what was answered is sent again.
    const { fullChance } = world.disk;
    world.disk.fullChance = 0;
    try {
      await Promise.race([world.webhooks.start(), world.disk.killed]);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
    world.disk.fullChance = fullChance;
    return !world.disk.isDead;
  }

  #statusOf({ endpointNo }: AttemptTask): number {
    const { random } = this.world;
    const health = this.#healths.get(endpointNo ?? 0) ?? 0.9;
    if (random.chance(health)) return 200;
    return random.pick([500, 500, 500, 500, 500, -1, 0, 503, random.chance(0.1) ? 410 : 500]);
  }

  #action(): () => Promise<unknown> {
    const { random } = this.world;
    const actions: ReadonlyArray<
      readonly [weight: number, name: string, run: () => Promise<unknown>]
    > = [
      [6, 'emit', () => this.world.emit(random.between(1, 8), kinds)],
      [0.6, 'emit many', () => this.world.emit(random.between(50, 400), kinds)],
      [0.006, 'emit thousands', () => this.world.emit(5_000, kinds)],
      [3, 'scan', () => this.#scan()],
      [12, 'answer', () => this.#answer(random.between(1, 20))],
      [5, 'pass', () => this.world.pass(random.pick([50, 150, 400, 1_100]))],
      [2, 'pass long', () => this.world.pass(random.pick([3_500, 10_000]))],
      [0.15, 'pass hours', () => this.#passHours()],
      [0.3, 'restart', () => this.#stop()],
      [0.5, 'sample', async () => this.#sample()],
      [1.2, 'create', () => this.#create()],
      [1, 'disable', () => this.#change({ status: 'disabled' })],
      [1.5, 'enable', () => this.#change({ status: 'enabled' })],
      [0.8, 'subscribe', () => this.#change({ events: random.pick(subscriptions) })],
      [0.8, 'batch', () => this.#change({ maxBatch: random.pick([1, 7, 100]) })],
      [0.3, 'delete', () => this.#delete()],
      [1, 'health', async () => this.#sicken()],
      [0.8, 'replay', () => this.#replay()],
      [0.5, 'replay range', () => this.#replayRange()],
      [0.7, 'redeliver', () => this.#redeliver()],
      [0.4, 'disk', async () => void (this.world.disk.fullChance = random.pick([0, 0, 0.3]))],
      [1, 'check', async () => this.#note(check(this.world, 'any time'))],
    ];
    let at = random.next() * actions.reduce((sum, [weight]) => sum + weight, 0);
    const [, name, run] = actions.find(([weight]) => (at -= weight) < 0) ?? actions[0]!;
    this.trace.push(`${this.step} ${name}`);
    return run;
  }

  async #scan(): Promise<void> {
    const { random } = this.world;
    const codes = Array.from({ length: random.between(1, 4) }, () => random.between(1, 9));
    this.world.scan(new Map(codes.map((code) => [code, random.pick([1, 2, 5, 11, 30, 130])])));
  }

  async #answer(count: number): Promise<void> {
    const { receiver, random } = this.world;
    for (let left = count; left > 0 && receiver.hanging > 0; left--) {
      receiver.answer(random.between(0, receiver.hanging), (task) => this.#statusOf(task));
      if (random.chance(0.2)) await this.world.cycles(random.between(1, 4));
    }
  }

  async #passHours(): Promise<void> {
    this.world.clock.move(3_700_000);
    await this.world.pass(1_100);
  }

  /** It ends as it should, with attempts in flight. Its files close in the machine's time: no other time passes meanwhile. */
  async #stop(): Promise<void> {
    const { world } = this;
    const { webhooks } = world;
    let left = stopMsMax;
    const finishing = webhooks.finish().then(() => void (left = 0));
    // It may be killed meanwhile: then the next one runs.
    for (; left > 0 && world.webhooks === webhooks; left -= 500) await world.pass(500);
    await finishing;
    await webhooks.close();
    if (world.webhooks === webhooks) world.disk.kill();
  }

  /** Its result comes later, or never. */
  #sample(): void {
    const endpoint = this.#any();
    if (endpoint === undefined) return;
    const body = '{"id":"evt_sample"}';
    this.world.webhooks.deliveries
      .sendNow(endpoint, 'qr.created', 'evt_sample', body)
      .catch(() => undefined);
  }

  #any(): EndpointRecord | undefined {
    const all = this.world.webhooks.endpoints.all();
    return all.length === 0 ? undefined : this.world.random.pick(all);
  }

  async #create(): Promise<void> {
    const { webhooks, random } = this.world;
    if (webhooks.endpoints.all().length >= endpointsMax) return;
    const created = {
      url: 'https://receiver.example/',
      events: random.pick(subscriptions),
      maxBatch: random.pick([1, 7, 100]),
    };
    await webhooks.endpoints.create({ workspaceNo: 1, userId }, created);
  }

  async #change(change: {
    status?: 'enabled' | 'disabled';
    events?: readonly (EventKind | '*')[];
    maxBatch?: number;
  }): Promise<void> {
    const endpoint = this.#any();
    if (endpoint !== undefined) await this.world.webhooks.endpoints.change(1, endpoint.id, change);
  }

  async #delete(): Promise<void> {
    const endpoint = this.#any();
    if (endpoint !== undefined) await this.world.webhooks.endpoints.delete(1, endpoint.id);
  }

  #sicken(): void {
    const endpoint = this.#any();
    if (endpoint === undefined) return;
    this.#healths.set(endpoint.no, this.world.random.pick([1, 1, 0.9, 0.5, 0]));
  }

  async #replay(): Promise<void> {
    const { webhooks, random } = this.world;
    const { data } = webhooks.deliveries.deadLetters.list(1, { limit: 50 });
    if (data.length === 0) return;
    const delivery = random.pick(data);
    this.#replayed.add(delivery.id);
    await webhooks.deliveries.deadLetters.replay(delivery);
  }

  async #replayRange(): Promise<void> {
    const { webhooks, clock, random } = this.world;
    const { deadLetters } = webhooks.deliveries;
    for (let before: string | undefined, isMore = true; isMore; isMore = before !== undefined) {
      const page = deadLetters.list(1, { limit: 100_000, before });
      for (const { id } of page.data) this.#replayed.add(id);
      before = page.before;
    }
    const fromMs = clock.now() - random.pick([5_000, 60_000, 10_000_000]);
    await deadLetters.replayRange(1, { fromMs, beforeMs: clock.now() + 1 });
  }

  async #redeliver(): Promise<void> {
    const { webhooks, random } = this.world;
    const endpoint = this.#any();
    const { data } = endpoint ? webhooks.deliveries.list(endpoint.no, { limit: 50 }) : { data: [] };
    if (data.length > 0) await webhooks.deliveries.redeliver(1, random.pick(data).id);
  }

  /** Receivers are well, and the process lives on: everything is settled. */
  async #end(): Promise<void> {
    const { world } = this;
    const { disk, receiver } = world;
    if (disk.isDead) await this.#restart();
    disk.fullChance = 0;
    disk.writesLeft = Number.MAX_SAFE_INTEGER;
    for (let round = 0; round < endRoundsMax && !this.#isSettled(); round++) {
      await world.pass(1_100);
      while (receiver.hanging > 0) {
        receiver.answer(0, () => 200);
        await world.cycles(receiver.hanging === 0 ? 16 : 0);
      }
      this.#note(receiver.faults.splice(0));
    }
    for (let left = savesMax; left > 0 && (left === savesMax || this.#hasBacklogs()); left--) {
      await world.pass(12_000);
    }
    this.#note(check(world, 'at the end'));
    this.#note(orderFaults(world, this.#replayed));
    for (const { no } of world.webhooks.endpoints.all()) {
      const waiting = world.webhooks.deliveries.count(no, 'pending');
      if (waiting > 0) this.#note([`${waiting} of ${no} wait for ever`]);
    }
    if (world.tables.due.count({}) > 0) this.#note(['rows are due for ever']);
    if (this.#hasBacklogs()) this.#note(['backlogs are left']);
  }

  #hasBacklogs(): boolean {
    const { tables } = this.world;
    tables.environment.refresh();
    return tables.backlogs.count({ limit: 1 }) > 0;
  }

  #isSettled(): boolean {
    const { webhooks, tables } = this.world;
    tables.environment.refresh();
    return (
      this.world.receiver.hanging === 0 &&
      webhooks.isQuiet &&
      tables.due.count({ limit: 1 }) === 0 &&
      webhooks.endpoints.all().every(({ no }) => webhooks.deliveries.count(no, 'pending') === 0)
    );
  }
}

/** The first of its faults is what to look at. */
export async function simulate(seed: number, steps: number) {
  const simulation = new Simulation(seed);
  const { world } = simulation;
  try {
    await simulation.run(steps);
  } finally {
    await world.close();
  }
  const { starts, faults, trace } = simulation;
  return { starts, sent: world.receiver.received.size, faults, trace };
}
