/**
 * The service's own pruning on the machines of a run: each tells what it had applied a while ago, some of that gets lost, and
 * the one that leads removes what all have. Ten minutes are 400 ms here, and what a disk has for 300 ms survives the power.
 */
import { AppliedHistory } from '../../../src/cluster/log/applied-history.ts';
import { LogPruning } from '../../../src/cluster/log/log-pruning.ts';
import { Marks } from '../../../src/cluster/scans/marks.ts';
import type { Timers } from '../../../src/model/clock.ts';
import type { Random } from '../../crash/random.ts';
import type { Machine } from './machine.ts';
import type { VirtualTime } from './virtual-time.ts';

const flushMs = 300;
const times = { heldMs: 400, noteMs: 40 };
const tellMs = 100;
const pruneMs = 250;
const lostShare = 0.2;

export class SimulatedPruning {
  readonly #random: Random;
  readonly #machines: readonly Machine[];
  /** Of the present process of each machine, by its name. */
  readonly #marks = new Map<string, Marks>();

  constructor(time: VirtualTime, random: Random, machines: readonly Machine[]) {
    this.#random = random;
    this.#machines = machines;
    const flush = (): void => {
      for (const { store } of machines) store.flush();
      time.later(flushMs, flush);
    };
    flush();
    for (const machine of machines) {
      machine.onStarted = (timers) => this.#begin(machine, timers);
    }
  }

  /** A process of it has begun. @param timers run nothing when it is dead, and late when it stood still */
  #begin(machine: Machine, timers: Timers): void {
    const { name, store, log, replicator } = machine;
    if (log === undefined || replicator === undefined) return;
    const marks = new Marks();
    marks.setCores(new Map(this.#machines.map((one) => [one.name, 1])));
    this.#marks.set(name, marks);
    const history = new AppliedHistory(times);
    const tell = (): void => {
      const applied = history.held([store.position().seq, 0], timers.monotonicMs());
      const mark = { node: name, savedSeq: 0, counted: [], cores: [], applied };
      for (const [other, theirs] of this.#marks) {
        if (other !== name && this.#random.chance(lostShare)) continue;
        theirs.take(mark, timers.monotonicMs());
      }
      timers.after(tellMs, tell);
    };
    tell();
    new LogPruning({
      log: {
        bounds: () => log.bounds(),
        prune: (below) => log.prune(below),
        // Nothing is ever too old: no machine of a run may be left behind.
        timeOf: () => Promise.resolve(undefined),
      },
      clock: { now: () => 0 },
      timers,
      everyMs: pruneMs,
      isLeader: () => replicator.isHeld,
      stored: () =>
        new Map([...marks.applied(timers.monotonicMs())].map(([core, seqs]) => [core, seqs?.[0]])),
      replayedBy: name,
      onLeftBehind: (cores) => {
        throw new Error(`${cores.join(', ')} left behind`);
      },
    }).start();
  }
}
