/**
 * The service's own pruning on the machines of a run: each reports what its disk has, some of that gets lost, and the one that
 * leads removes what all have. A disk has what was applied before its last flush.
 */
import { LogPruning } from '../../../src/cluster/log/log-pruning.ts';
import { Marks } from '../../../src/cluster/scans/marks.ts';
import type { Timers } from '../../../src/model/clock.ts';
import type { Random } from '../../crash/random.ts';
import type { Machine } from './machine.ts';
import type { VirtualTime } from './virtual-time.ts';

const flushMs = 300;
const tellMs = 100;
const pruneMs = 250;
const lostShare = 0.2;

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
