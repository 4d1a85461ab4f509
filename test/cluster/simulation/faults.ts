/** What happens to the machines of a run, to their disks, their paths to the log, and its brokers. */
import { LogPruning } from '../../../src/cluster/log/log-pruning.ts';
import { Marks } from '../../../src/cluster/scans/marks.ts';
import type { Timers } from '../../../src/model/clock.ts';
import type { Random } from '../../torture/random.ts';
import { type Cut, type LogFaults, type MemoryStream, noCut, noFaults } from '../log/memory-log.ts';
import type { VirtualTime } from '../virtual-time.ts';
import { diskMs, type Machine } from './machine.ts';

interface FaultInjectorOptions {
  readonly random: Random;
  readonly time: VirtualTime;
  readonly machines: readonly Machine[];
  readonly stream: MemoryStream;
  readonly note: (line: string) => void;
  /** Faults may last longer than any lease or timeout. */
  readonly isLong: boolean;
  /** Clients ask one machine for many writes at once. */
  readonly crowd: (machine: Machine) => void;
}

/** A fault that ends after a while; one that `begin` finds impossible does not happen. */
type Lasting = readonly [line: string, begin: () => unknown, end: () => unknown];
type Fault = Lasting | (() => unknown);

export function drawFaults(random: Random): LogFaults {
  const pick = random.pick.bind(random);
  return {
    lostAnswer: pick([0, 0.02, 0.2]),
    lostAppend: pick([0, 0.02, 0.2]),
    late: pick([0, 0.02, 0.1]),
    duplicate: pick([0, 0.05, 0.3]),
    lateMs: pick([50, 2_000, 8_000]),
    end: pick([0, 0.01, 0.05]),
    stall: pick([0, 0.01, 0.1]),
    // The last is a reading that is dead without a word.
    stallMs: pick([100, 3_000, 200_000]),
    latencyMs: pick([1, 5, 100]),
    entriesMax: pick([1, 3, Infinity]),
  };
}

export class FaultInjector {
  readonly #options: FaultInjectorOptions;
  readonly #random: Random;
  readonly #machines: readonly Machine[];
  readonly #mayLose: boolean;
  /** The brokers lost entries that they had confirmed. */
  hasLost = false;
  /** A machine lost what it had applied and not flushed. */
  hasLostPower = false;
  burnt: Machine | undefined;
  /** Leads that were given away. */
  releases = 0;
  /** Its fault stays when all others are healed: the other machines must do without it. */
  ill: Machine | undefined;

  constructor(options: FaultInjectorOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#machines = options.machines;
    this.#mayLose = this.#random.chance(0.15);
  }

  #drawCut(): Cut {
    const random = this.#random;
    return {
      appends: random.chance(0.4),
      readings: random.chance(0.4),
      bounds: random.pick(['asked', 'unanswered', 'old']),
    };
  }

  strike(): void {
    const random = this.#random;
    const { isLong, note, time } = this.#options;
    const machine = random.pick(this.#machines);
    const ms = random.pick(isLong ? [4_000, 14_000] : [100, 1_000, 4_000]) * random.next();
    const fault = random.pick([...this.#ofOne(machine), ...this.#ofAll(machine)]);
    if (typeof fault === 'function') return void fault();
    const [line, begin, end] = fault;
    if (begin() === false) return;
    note(`${machine.name} ${line} for ${ms.toFixed(0)} ms`);
    time.later(ms, () => void end());
  }

  #ofOne(machine: Machine): Fault[] {
    const random = this.#random;
    const { store } = machine;
    const start = (): void => machine.start();
    const cutPower = (): void => {
      this.hasLostPower = true;
      machine.cutPower(random.between(0, 4));
    };
    const slow = (): number => (machine.diskMs = random.pick([300, 3_000, 6_000]));
    // Of the process that runs now.
    const { log } = machine;
    return [
      ['is killed', () => machine.kill(), start],
      ['loses power', cutPower, start],
      ['is paused', () => machine.pause(), () => machine.resume()],
      ['is cut off', () => log?.leave(), () => log?.comeBack()],
      ['is half cut off', () => (machine.cut = this.#drawCut()), () => (machine.cut = noCut)],
      ['has a full disk', () => void (store.isFull = true), () => (store.isFull = false)],
      ['has a slow disk', slow, () => (machine.diskMs = diskMs)],
      () => (machine.faults = drawFaults(random)),
      () => this.#release(machine),
      () => store.flush(),
      ['burns, and is replaced', () => this.#burn(machine), start],
    ];
  }

  #ofAll(machine: Machine): Fault[] {
    const logs = this.#machines.map(({ log }) => log);
    const leave = (): void => logs.forEach((log) => log?.leave());
    const comeBack = (): void => logs.forEach((log) => log?.comeBack());
    const fill = (isFull: boolean): void =>
      this.#machines.forEach(({ store }) => (store.isFull = isFull));
    return [
      ['and all others are cut off', leave, comeBack],
      ['and all others have full disks', () => fill(true), () => fill(false)],
      () => this.#random.chance(0.05) && this.#options.crowd(machine),
      () => this.#loseEntries(),
    ];
  }

  /** Most often of the machine that leads: others have nothing to give away. */
  #release(machine: Machine): void {
    const random = this.#random;
    const leading = this.#machines.find(({ replicator }) => replicator?.status.state === 'leader');
    const giver = random.chance(0.1) ? machine : (leading ?? machine);
    if (!giver.isRunning) return;
    const to = random.pick(['', '', random.pick(this.#machines).owner, 'unknown']);
    this.#options.note(`${giver.name} gives the lead to ${to === '' ? 'any' : to}`);
    if (giver.replicator?.status.state === 'leader') this.releases += 1;
    void giver.replicator?.release(to);
    // A process that ends.
    if (random.chance(0.3)) {
      this.#options.time.later(random.next() * 200, () => {
        giver.kill();
        this.#options.time.later(random.next() * 2_000, () => giver.start());
      });
    }
  }

  /** Rarely: all brokers lose power and had not written. */
  #loseEntries(): void {
    const { stream, note } = this.#options;
    if (!this.#mayLose || this.#random.chance(0.5)) return;
    const { last } = stream;
    const kept = Math.max(stream.first - 1, last - this.#random.between(1, 6));
    if (kept === last) return;
    this.hasLost = true;
    note(`the brokers lose ${kept + 1} to ${last}`);
    stream.loseAbove(kept);
    // The machine that has applied most may be lost with them.
    const seqOf = ({ store }: Machine): number => store.position().seq;
    const most = this.#machines.toSorted((one, other) => seqOf(other) - seqOf(one))[0]!;
    if (this.#random.chance(0.5) && this.#burn(most)) note(`${most.name} burns too`);
  }

  /** At most one machine a run: a write that only that one has may be lost. */
  #burn(machine: Machine): boolean {
    if (this.burnt !== undefined || this.#random.chance(0.8)) return false;
    this.burnt = machine;
    machine.burn();
    return true;
  }

  heal(): void {
    this.#options.note('everything heals');
    for (const machine of this.#machines) this.#healOne(machine);
  }

  healIll(): void {
    if (this.ill !== undefined) this.#healOne(this.ill);
    this.ill = undefined;
  }

  #healOne(machine: Machine): void {
    machine.store.isFull = false;
    machine.diskMs = diskMs;
    machine.faults = noFaults;
    machine.cut = noCut;
    machine.log?.comeBack();
    machine.resume();
    machine.start();
  }

  /** One machine, until `healIll`. */
  sicken(): void {
    const random = this.#random;
    const machine = random.pick(this.#machines);
    this.ill = machine;
    this.#options.note(`${machine.name} stays ill`);
    random.pick([
      () => machine.kill(),
      () => machine.pause(),
      () => machine.log?.leave(),
      () => (machine.cut = this.#drawCut()),
      () => (machine.store.isFull = true),
      () => (machine.diskMs = random.pick([1_000, 4_000])),
      // What it reads is older than its lease, mostly.
      () => (machine.faults = { ...noFaults, stall: 1, stallMs: random.pick([2_000, 8_000]) }),
    ])();
  }
}

const flushMs = 300;
const tellMs = 100;
const pruneMs = 250;
const lostShare = 0.2;

/**
 * The service's own pruning on the machines of a run: each reports what its disk has, some of that gets lost, and the one that
 * leads removes what all have. A disk has what was applied before its last flush.
 */
export class SimulatedPruning {
  readonly #random: Random;
  readonly #machines: readonly Machine[];
  /** Of the present process of each machine, by its name. */
  readonly #marks = new Map<string, Marks>();
  readonly #flushed = new Map<string, number>();

  constructor(time: VirtualTime, random: Random, machines: readonly Machine[]) {
    this.#random = random;
    this.#machines = machines;
    const flush = (): void => {
      for (const { name, store } of machines) {
        store.flush();
        this.#flushed.set(name, store.position().seq);
      }
      time.later(flushMs, flush);
    };
    flush();
    for (const machine of machines) {
      machine.onStarted = (timers) => this.#begin(machine, timers);
    }
  }

  /** A process of it has begun. @param timers run nothing when it is dead, and late when it stood still */
  #begin(machine: Machine, timers: Timers): void {
    const { name, log, replicator } = machine;
    if (log === undefined || replicator === undefined) return;
    const marks = new Marks();
    marks.setCores(new Map(this.#machines.map((one) => [one.name, 1])));
    this.#marks.set(name, marks);
    const tell = (): void => {
      const applied = [this.#flushed.get(name) ?? 0, 0] as const;
      const mark = { savedSeq: 0, counted: [], cores: [], applied };
      for (const [other, theirs] of this.#marks) {
        if (other !== name && this.#random.chance(lostShare)) continue;
        theirs.take(name, mark);
      }
      timers.after(tellMs, tell);
    };
    tell();
    new LogPruning({
      log: {
        bounds: () => log.bounds(),
        prune: (below) => log.prune(below),
        // Nothing is ever too old: every machine of a run must continue.
        timeOf: () => Promise.resolve(undefined),
      },
      clock: { now: () => 0 },
      timers,
      everyMs: pruneMs,
      isLeader: () => replicator.isHeld,
      stored: () => new Map([...marks.applied()].map(([core, seqs]) => [core, seqs[0]])),
      replayedBy: name,
    }).start();
  }
}
