/**
 * One machine of the simulation: a disk that stays, and a process that is killed, paused and started again. The disk has one
 * table of numbers and the position in the log. What was not flushed when the power fails is lost, from the newest
 * transaction backwards, with the position that it had.
 */
import { emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import type { ReplicatedStore } from '../../../src/cluster/log/apply-queue.ts';
import { LogReplicator, type Stop } from '../../../src/cluster/log/replicator.ts';
import type { Timers } from '../../../src/model/clock.ts';
import {
  type BatchRun,
  type Outcome,
  ReplicatedTransactions,
  type Replicator,
  type StoredWrite,
  type Work,
} from '../../../src/store/replicated-transactions.ts';
import type { Random } from '../../torture/random.ts';
import {
  type Cut,
  type LogFaults,
  MemoryLog,
  type MemoryStream,
  noCut,
  noFaults,
} from '../log/memory-log.ts';
import type { VirtualTime } from '../virtual-time.ts';

const beatMs = 500;
const restartMs = 500;
/** Until a transaction is stored, and until its trial is known to be undone. */
export const diskMs = 3;
/** So that most batches of several writes stand in several entries. */
const partBytes = 60;

/** After a transaction. */
interface Stored {
  readonly records: Map<string, number>;
  readonly position: LogPosition;
}

/** Of a batch, as the environment bounds it by bytes. */
const batchWritesMax = 8;

/** Of one process: runs what is due while it lives, in the order of the calls. */
type Soon = (run: () => void) => void;

class MemoryStore {
  /** The first was flushed, the last is the newest. */
  #states: [Stored, ...Stored[]] = [{ records: new Map(), position: emptyPosition }];
  /** Of the batch that runs. */
  #running: { writes: StoredWrite[]; values: Map<string, number | undefined> } | undefined;
  /** No transaction can be stored. */
  isFull = false;

  get #newest(): Stored {
    return this.#states.at(-1)!;
  }

  records(): ReadonlyMap<string, number> {
    return this.#newest.records;
  }

  position(): LogPosition {
    return this.#newest.position;
  }

  get(key: string): number | undefined {
    const values = this.#running?.values;
    return values?.has(key) === true ? values.get(key) : this.#newest.records.get(key);
  }

  put(key: string, value: number): void {
    this.#running!.values.set(key, value);
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeDoubleLE(value);
    this.#running!.writes.push(['numbers', key, bytes]);
  }

  remove(key: string): void {
    this.#running!.values.set(key, undefined);
    this.#running!.writes.push(['numbers', key]);
  }

  /**
   * @param tried takes its time, between a trial and its end
   * @returns runs transactions of one process
   */
  replicateWith(replicator: Replicator, soon: Soon, tried: Soon): (work: Work) => Promise<unknown> {
    const run = async (works: readonly Work[]): Promise<BatchRun> => {
      const batch = this.#run(works);
      await new Promise<void>(tried);
      return batch;
    };
    const transactions = new ReplicatedTransactions({ run, replicator, soon });
    return (work) => transactions.add(work);
  }

  #run(works: readonly Work[]): BatchRun {
    const running = { writes: [] as StoredWrite[], values: new Map<string, number | undefined>() };
    this.#running = running;
    const outcomes: Outcome[] = [];
    for (const work of works) {
      if (running.writes.length >= batchWritesMax) break;
      const values = new Map(running.values);
      const written = running.writes.length;
      try {
        outcomes.push({ value: work() });
      } catch (error) {
        outcomes.push({ error });
        running.writes.length = written;
        running.values = values;
      }
    }
    this.#running = undefined;
    return { outcomes, writes: running.writes };
  }

  /** As one process has it. @param stored takes its time */
  replicated(stored: Soon): ReplicatedStore {
    return {
      position: () => this.position(),
      apply: (writes, position) =>
        new Promise((resolve, reject) => {
          stored(() => {
            try {
              this.#apply(writes, position);
              resolve();
            } catch (error) {
              reject(error);
            }
          });
        }),
    };
  }

  #apply(writes: readonly StoredWrite[], position: LogPosition): void {
    if (this.isFull) throw new Error('the disk is full');
    const records = new Map(this.#newest.records);
    for (const [, key, bytes] of writes) {
      if (bytes === undefined) records.delete(String(key));
      else records.set(String(key), Buffer.from(bytes).readDoubleLE());
    }
    this.#states.push({ records, position });
  }

  /** The machine is replaced. */
  empty(): void {
    this.#states = [{ records: new Map(), position: emptyPosition }];
  }

  /** What was stored so far survives a loss of power. */
  flush(): void {
    this.#states = [this.#newest];
  }

  /** @param keep transactions that were not flushed, and are there all the same */
  loseUnflushed(keep: number): void {
    this.#states.splice(1 + keep);
    this.flush();
  }
}

export interface MachineOptions {
  readonly name: string;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly stream: MemoryStream;
  readonly note: (line: string) => void;
  readonly leaseMs: number;
  /** Of its clock: 1.01 is 1 % fast. */
  readonly rate: number;
  readonly onLeading: () => void;
}

/** One run of a process. */
interface Process {
  readonly log: MemoryLog;
  readonly replicator: LogReplicator;
  readonly run: (work: Work) => Promise<unknown>;
  isAlive: boolean;
}

export class Machine {
  readonly #options: MachineOptions;
  readonly name: string;
  readonly store = new MemoryStore();
  #process: Process | undefined;
  #runs = 0;
  /** What happens to a paused machine waits. */
  #paused: Array<() => void> | undefined;
  #faults: LogFaults = noFaults;
  #cut = noCut;
  /** At most: of what is stored from now on. */
  diskMs = diskMs;
  stop: Stop | undefined;
  /** It leads, or led until another did. */
  leads = 0;
  /** A process has begun. */
  onStarted: (timers: Timers) => void = () => undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.name = options.name;
  }

  /** It is up and not paused. */
  get isRunning(): boolean {
    return this.#process !== undefined && this.#paused === undefined;
  }

  /** Of its present or last process. */
  get owner(): string {
    return `${this.name}.${this.#runs}`;
  }

  get replicator(): LogReplicator | undefined {
    return this.#process?.replicator;
  }

  /** Undefined while it is down. */
  get log(): MemoryLog | undefined {
    return this.#process?.log;
  }

  set faults(faults: LogFaults) {
    this.#faults = faults;
    if (this.#process !== undefined) this.#process.log.faults = faults;
  }

  set cut(cut: Cut) {
    this.#cut = cut;
    if (this.#process !== undefined) this.#process.log.cut = cut;
  }

  /** A clock of this machine: what is due while it is paused happens when it resumes. */
  readonly #later = (ms: number, run: () => void): (() => void) => {
    let isCancelled = false;
    const due = (): void => {
      if (isCancelled) return;
      if (this.#paused === undefined) run();
      else this.#paused.push(due);
    };
    this.#options.time.later(ms, due);
    return () => {
      isCancelled = true;
    };
  };

  start(): void {
    if (this.#process !== undefined || this.stop !== undefined) return;
    const { name, time, random, stream, note, leaseMs, rate } = this.#options;
    const draws = random.fork();
    const next = (): number => draws.next();
    const log = new MemoryLog(stream, this.#later, next, this.#faults);
    log.cut = this.#cut;
    const process: Partial<Process> = { log, isAlive: true };
    const later = (ms: number, run: () => void): (() => void) =>
      this.#later(ms, () => {
        if (process.isAlive === true) run();
      });
    let appliedMs = 0;
    const inOrder = (run: () => void): void => {
      const atMs = time.nowMs + this.diskMs * draws.next();
      appliedMs = Math.max(atMs, appliedMs);
      later(appliedMs - time.nowMs, run);
    };
    this.#runs += 1;
    const { owner } = this;
    const timers: Timers = {
      monotonicMs: () => time.nowMs * rate,
      after: (ms, run) => later(ms / rate, run),
    };
    const replicator = new LogReplicator({
      log,
      store: this.store.replicated(inOrder),
      self: { owner, url: `http://${name}`, version: '1' },
      timers,
      random: next,
      leaseMs,
      beatMs,
      partBytes,
      onLeading: () => {
        this.leads++;
        note(`${owner} leads`);
        this.#options.onLeading();
      },
      onDeposed: () => note(`${owner} is deposed`),
      onStopped: (stop) => {
        note(`${owner} stopped: ${stop.reason}: ${stop.detail}`);
        if (stop.reason === 'unapplied') this.#restart();
        else this.stop = stop;
      },
    });
    const soon = (begin: () => void): void => void later(0, begin);
    const tried = (done: () => void): void => {
      if (this.diskMs > diskMs) later(this.diskMs * draws.next(), done);
      else done();
    };
    const run = this.store.replicateWith(replicator, soon, tried);
    this.#process = Object.assign(process, { log, replicator, run, isAlive: true });
    replicator.start();
    this.onStarted(timers);
  }

  /** As a service manager does. */
  #restart(): void {
    const ended = this.#process;
    this.#options.time.later(restartMs, () => {
      if (this.#process !== ended) return;
      this.kill();
      this.start();
    });
  }

  /** @throws Failure not_active, and what the work throws. Never settles when the process dies before. */
  async transaction(work: Work): Promise<unknown> {
    if (this.#process === undefined) throw new Error('it is down');
    return await this.#process.run(work);
  }

  kill(): void {
    if (this.#process === undefined) return;
    this.#process.isAlive = false;
    this.#process.log.kill();
    this.#process = undefined;
    this.resume();
  }

  /** It is killed, and what the disk has not confirmed is lost from some commit on. */
  cutPower(keep: number): void {
    this.kill();
    this.store.loseUnflushed(keep);
  }

  /** The machine is replaced by an empty one. */
  burn(): void {
    this.kill();
    this.store.empty();
  }

  pause(): void {
    this.#paused ??= [];
  }

  resume(): void {
    const waiting = this.#paused ?? [];
    this.#paused = undefined;
    for (const run of waiting) this.#options.time.later(0, run);
  }
}
