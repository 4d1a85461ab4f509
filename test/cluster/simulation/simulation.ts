/**
 * A run of one seed: 2, 3 or 5 machines replay one log under every fault that is modelled: processes die, freeze, lose
 * power, cannot write, give their lead away; the log loses answers and appends, brings some late or twice, stalls and ends
 * readings, cannot be reached; and in some runs its brokers lose entries that they had confirmed. In others what all machines
 * have is removed from it: then none may need what is gone, but one that was replaced by an empty one.
 *
 * Each client's write takes the next number of a counter and keeps it under its own name; so a write that is lost, made
 * twice, made although it was refused, or made on an old state shows in the numbers.
 */
import { chainAfter } from '../../../src/cluster/log/entry.ts';
import { Failure } from '../../../src/model/failure.ts';
import { Random } from '../../torture/random.ts';
import { MemoryStream } from '../log/memory-log.ts';
import { VirtualTime } from '../virtual-time.ts';
import { drawFaults, FaultInjector, SimulatedPruning } from './faults.ts';
import { Machine } from './machine.ts';

const faultyMs = [2_000, 4_000, 8_000];
const longMs = 60_000;
/** Until everything is equal again after the last fault: a lease, its margin, and what waits for answers of the log. */
const healMsMax = 60_000;
const aliveMsMax = 20_000;
const illMs = 5_000;
const crowdWrites = 100;
const clientEveryMs = 150;

/** What a client asked for: the next number of the counter, kept under the write's name. */
interface Write {
  readonly name: string;
  /** `undone`: its work threw. `unknown`: the machine died before it answered. */
  answer: 'done' | 'refused' | 'undone' | 'unknown';
  /** What the counter gave. */
  value: number | undefined;
}

class Simulation {
  readonly #random: Random;
  readonly #time = new VirtualTime();
  readonly #stream = new MemoryStream();
  readonly #machines: Machine[] = [];
  readonly #writes: Write[] = [];
  readonly faults: string[] = [];
  readonly trace: string[] = [];
  /** The highest number that was answered to a client. */
  #answeredMax = 0;
  readonly #isLong: boolean;
  readonly #injector: FaultInjector;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#isLong = this.#random.chance(0.02);
    const count = this.#random.pick([2, 3, 3, 3, 5]);
    const leaseMs = this.#random.pick([1_000, 1_500, 3_000]);
    for (let at = 0; at < count; at++) {
      this.#machines.push(
        new Machine({
          name: `m${at}`,
          time: this.#time,
          random: this.#random.fork(),
          stream: this.#stream,
          note: (line) => this.#note(line),
          leaseMs,
          rate: this.#random.pick([0.99, 1, 1, 1.01]),
          onLeading: () => this.#checkLeases(),
        }),
      );
    }
    this.#injector = new FaultInjector({
      random: this.#random,
      time: this.#time,
      machines: this.#machines,
      stream: this.#stream,
      note: (line) => this.#note(line),
      isLong: this.#isLong,
      crowd: (machine) => {
        for (let count = 0; count < crowdWrites; count++) void this.#write(machine);
      },
    });
  }

  async run(): Promise<void> {
    const [random, injector, time] = [this.#random, this.#injector, this.#time];
    if (random.chance(0.3)) {
      this.#note('what all have is pruned');
      void new SimulatedPruning(time, random.fork(), this.#machines);
    }
    for (const machine of this.#machines) {
      machine.faults = drawFaults(random);
      machine.start();
    }
    const endMs = time.nowMs + (this.#isLong ? longMs : random.pick(faultyMs));
    const next = (): number => random.next();
    time.every(clientEveryMs, endMs, next, () => this.#client());
    time.every(random.pick([200, 600, 2_000]), endMs, next, () => injector.strike());
    await time.run(endMs);
    injector.heal();
    if (random.chance(0.2)) {
      injector.sicken();
      // Its lease lapses without a write under way, which would make the others ignore its beats.
      await time.run(time.nowMs + illMs);
    }
    await this.#becomeWhole();
    await this.#checkAlive();
    injector.healIll();
    await this.#becomeWhole();
    this.#check();
  }

  async #becomeWhole(): Promise<void> {
    await this.#time.run(this.#time.nowMs + healMsMax, () => this.#isWhole());
  }

  #note(line: string): void {
    this.trace.push(`${(this.#time.nowMs / 1_000).toFixed(3)} ${line}`);
  }

  #fail(text: string): void {
    this.#note(`FAULT ${text}`);
    this.faults.push(text);
  }

  #client(): void {
    const random = this.#random;
    const machine = random.pick(this.#machines);
    if (!machine.isRunning) return;
    if (random.chance(0.3)) this.#read(machine);
    // Most clients know the leader.
    const leading = this.#machines.find(({ replicator }) => replicator?.status.state === 'leader');
    const target = random.chance(0.1) ? machine : leading;
    if (target?.isRunning !== true) return;
    for (let count = random.pick([1, 1, 2, 5]); count > 0; count--) void this.#write(target);
  }

  /** Called when a machine begins to lead: no other may hold the lease then. */
  #checkLeases(): void {
    // Brokers that lose a confirmed lead leave two leaders for the rest of a lease.
    if (this.#injector.hasLost) return;
    const held = this.#machines.filter(isLeading);
    if (held.length > 1) this.#fail(`${held.map(({ name }) => name).join(' and ')} hold the lease`);
  }

  /** A machine's answer under its lease is not older than any earlier answer to any client. */
  #read(machine: Machine): void {
    this.#checkLeases();
    if (this.#injector.hasLost) return;
    if (machine.replicator?.isHeld !== true) return;
    const value = machine.store.get('counter') ?? 0;
    if (value < this.#answeredMax) {
      this.#fail(`${machine.name} answers ${value} under its lease after ${this.#answeredMax}`);
    }
  }

  async #write(machine: Machine): Promise<void> {
    const write: Write = { name: `w${this.#writes.length}`, answer: 'unknown', value: undefined };
    this.#writes.push(write);
    const { store } = machine;
    const isToThrow = this.#random.chance(0.1);
    const work = (): number => {
      const value = (store.get('counter') ?? 0) + 1;
      store.put('counter', value);
      if (isToThrow) throw new Error('undone');
      store.put(write.name, value);
      store.remove(`gone of ${write.name}`);
      return value;
    };
    try {
      write.value = Number(await machine.transaction(work));
      write.answer = 'done';
      this.#answeredMax = Math.max(this.#answeredMax, write.value);
      if (store.get(write.name) !== write.value) {
        this.#fail(`${write.name} is answered, and not applied on ${machine.name}`);
      }
    } catch (error) {
      write.answer = error instanceof Failure ? 'refused' : 'undone';
    }
  }

  #serving(): Machine[] {
    const { ill } = this.#injector;
    return this.#machines.filter((machine) => machine.stop === undefined && machine !== ill);
  }

  /** A machine leads, and all that serve have applied the same. */
  #isWhole(): boolean {
    const serving = this.#serving();
    if (serving.length === 0) return true;
    const [first, ...others] = serving.map(({ store }) => store.position());
    if (others.some(({ chain }) => Buffer.compare(chain, first!.chain) !== 0)) return false;
    return this.#machines.some(isLeading);
  }

  #check(): void {
    const machines = this.#machines;
    if (!this.#isWhole()) this.#fail('no leader, or not equal, after healing');
    const found = differing(machines);
    for (const machine of machines) {
      const isPruned = machine === this.#injector.burnt && machine.stop?.reason === 'behind';
      if (machine.stop !== undefined && !this.#injector.hasLost && !isPruned) {
        found.push(`${machine.name} stopped, and no entry was lost`);
      }
      if (machine.stop !== undefined || this.#injector.hasLost) continue;
      found.push(...aheadOfLog(machine, this.#stream), ...wrongWrites(machine, this.#writes));
    }
    if (this.#injector.hasLost) {
      const isExposed = this.#injector.burnt !== undefined;
      found.push(...lostWrites(machines, this.#writes, this.#injector.hasLostPower || isExposed));
    }
    for (const fault of found) this.#fail(fault);
  }

  /** Fails unless a write is done within aliveMsMax. */
  async #checkAlive(): Promise<void> {
    const untilMs = this.#time.nowMs + aliveMsMax;
    const before = this.#doneCount();
    const isDone = (): boolean => this.#doneCount() > before;
    while (this.#time.nowMs < untilMs) {
      if (this.#serving().length === 0) return;
      const leader = this.#machines.find(isLeading);
      if (leader !== undefined) void this.#write(leader);
      await this.#time.run(this.#time.nowMs + clientEveryMs, isDone);
      if (isDone()) return;
    }
    this.#fail('after healing, no write is done');
  }

  #doneCount(): number {
    return this.#writes.filter(({ answer }) => answer === 'done').length;
  }

  result() {
    const count = (answer: Write['answer']): number =>
      this.#writes.filter((write) => write.answer === answer).length;
    return {
      faults: this.faults,
      done: count('done'),
      refused: count('refused'),
      /** How often a machine began to lead. */
      leads: this.#machines.reduce((sum, { leads }) => sum + leads, 0),
      /** Leads that were given away. */
      releases: this.#injector.releases,
      /** Machines that stopped for good. */
      stopped: this.#machines.filter(({ stop }) => stop !== undefined).length,
      /** Entries that were removed because all had them. */
      pruned: this.#stream.first - 1,
      trace: this.trace,
    };
  }
}

export async function simulate(seed: number) {
  const { stackTraceLimit } = Error;
  // Stack traces of refusals, which nothing reads, would take half the time of a run.
  Error.stackTraceLimit = 0;
  try {
    const simulation = new Simulation(seed);
    await simulation.run();
    return simulation.result();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const isLeading = ({ isRunning, replicator }: Machine): boolean =>
  isRunning && replicator?.isHeld === true;

/** Machines that have replayed the same log have the same table. */
function differing(machines: readonly Machine[]): string[] {
  const faults: string[] = [];
  for (const [at, { name, store }] of machines.entries()) {
    for (const other of machines.slice(at + 1)) {
      const { seq, chain } = store.position();
      if (Buffer.compare(chain, other.store.position().chain) !== 0) continue;
      const [records, others] = [store.records(), other.store.records()];
      const isEqual =
        records.size === others.size &&
        [...records].every(([key, value]) => others.get(key) === value);
      if (!isEqual) faults.push(`${name} and ${other.name} differ at ${seq}`);
    }
  }
  return faults;
}

/** What was applied is what the log has at its place. */
function aheadOfLog({ name, store }: Machine, stream: MemoryStream): string[] {
  const { seq, before, chain } = store.position();
  const isInLog = seq === 0 || Buffer.compare(chainAfter(before, stream.at(seq)), chain) === 0;
  return isInLog ? [] : [`${name} has applied what the log has not`];
}

/** Each write is there as it was answered, and the counter has counted each once. */
function wrongWrites({ name: machine, store }: Machine, writes: readonly Write[]): string[] {
  const faults: string[] = [];
  const given = new Set<number>();
  for (const { name, answer, value } of writes) {
    const stored = store.get(name);
    if (answer === 'done' && stored !== value) {
      faults.push(`${name} was answered ${value}, and is ${stored} on ${machine}`);
    }
    if (stored === undefined) continue;
    if (answer === 'refused' || answer === 'undone') {
      faults.push(`${name} was ${answer}, and is there on ${machine}`);
    }
    if (given.has(stored)) faults.push(`${stored} was given twice on ${machine}`);
    given.add(stored);
  }
  const counter = store.get('counter') ?? 0;
  if (given.size !== counter) faults.push(`${given.size} writes are ${counter} on ${machine}`);
  return faults;
}

/**
 * Where the brokers lost entries: an answered write is on every machine that serves, or only on machines that stopped.
 * @param mayBeGone it may be on no machine at all: the one that had it was lost too
 */
function lostWrites(
  machines: readonly Machine[],
  writes: readonly Write[],
  mayBeGone: boolean,
): string[] {
  const faults: string[] = [];
  for (const { name, answer, value } of writes) {
    if (answer !== 'done') continue;
    const having = machines.filter(({ store }) => store.get(name) === value);
    const isOnAll = machines.every(
      (machine) => machine.stop !== undefined || having.includes(machine),
    );
    const isOnNone = having.every(({ stop }) => stop !== undefined);
    if (!isOnAll && !isOnNone) faults.push(`${name} is on some machines that serve, not on others`);
    if (having.length === 0 && !mayBeGone) faults.push(`${name} is on no machine`);
  }
  return faults;
}
