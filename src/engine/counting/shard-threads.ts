/**
 * Starts, supervises and stops the shards, the threads that count scans. A shard that dies restarts at the store's watermarks,
 * so no scan is lost or counted twice.
 */
import type { Clock } from '../../model/clock.ts';
import { shipped } from '../../platform/shipped.ts';
import { partitionCount, partitionOf } from '../../model/code.ts';
import { Signal } from '../../model/signal.ts';
import type { ShardFigures } from './shard.ts';
import type { WorkspaceZone } from './days/zone-cuts.ts';
import type { FileIdentity } from '../journal/file-identity.ts';
import { JournalPositions } from '../journal/positions.ts';
import {
  countingMsMax,
  flushMsMax,
  type ShardCommand,
  type ShardMessage,
  type ShardSetup,
} from './shard-thread.ts';
import type { VisitorSetup } from '../visitor/visitor.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import type { DamagedRecord } from '../../store/damage.ts';
import type { HealthCheck } from '../../platform/health.ts';
import type { Logger } from '../../platform/log.ts';
import {
  type StartPace,
  startThreads,
  SupervisedThread,
} from '../../platform/workers/supervised-thread.ts';
import { JournalLag } from '../journal/journal-lag.ts';
import type { Journals } from '../journal/journals.ts';
import type { CodeNo } from '../../model/numbers.ts';

const stopMsMax = countingMsMax + flushMsMax + 1_000;
const lagMsMax = 30_000;
const rhythm = { figuresMs: 1_000, checkMs: 4_000 };
/** A shard without figures for this long may not count. */
const silentMsMax = 10_000;

/** Of a shard and those that died before it, since the start of the service. */
type ShardTotals = Pick<ShardFigures, 'scans' | 'bots' | 'missed' | 'damagedScans'>;

export interface ShardState {
  readonly thread: SupervisedThread<ShardSetup, ShardCommand, ShardMessage>;
  figures: ShardFigures | undefined;
  damage: readonly DamagedRecord[];
  fault: string | undefined;
  journalFault: string | undefined;
  lastFiguresMs: number;
  isCaughtUp: boolean;
  before: ShardTotals;
  consumed: ReadonlyMap<number, number>;
}

export interface ShardThreadsOptions {
  readonly rawRetentionDays: number;
  readonly threads: number;
  readonly bounds: Pick<ShardSetup, 'actorsMax' | 'windowBytesMax'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: ScanStore;
  readonly storePlace: FileIdentity;
  readonly journals: Journals;
  /** Other than UTC; absent = none. */
  readonly zones?: (() => readonly WorkspaceZone[]) | undefined;
  /** A thread that starts opens its files in the data folder. */
  readonly whenInPlace: () => Promise<void>;
  readonly visitor: VisitorSetup;
}

export class ShardThreads {
  readonly #options: ShardThreadsOptions;
  readonly states: ShardState[] = [];
  /** A shard has committed a window with scans: there are new blocks. */
  readonly committed = new Signal();
  readonly measured = new Signal();
  /** A shard has reported that the store refused a commit. */
  readonly refused = new Signal();
  readonly lag: JournalLag;
  readonly #consumed: readonly JournalPositions[];
  #countedAtStop: ReadonlyMap<number, number> = new Map();
  /** 0 = shards wait before they open the store, 1 = open. */
  readonly #gate = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #deliveredBlock = 0;
  #booted: Promise<void> = Promise.resolve();
  #onCaughtUp: (() => void) | undefined;
  #onFailed: ((error: Error) => void) | undefined;
  readonly #onExpired = new Set<(codeNos: readonly CodeNo[]) => void>();
  /** Called when a shard has caught up, with the numbers in its scans. */
  onSeen: ((seen: Extract<ShardMessage, { kind: 'caught-up' }>['seen']) => void) | undefined;

  constructor(options: ShardThreadsOptions) {
    this.#options = options;
    this.#consumed = Array.from({ length: options.threads }, (_, shard) => this.#counted(shard));
    this.lag = new JournalLag(options.journals.tails, this.#consumed);
  }

  get damage(): readonly DamagedRecord[] {
    return this.states.flatMap(({ damage }) => damage);
  }

  get checks(): HealthCheck[] {
    return [
      { name: 'scans', problem: () => this.#storeProblem() },
      { name: 'counting', problem: () => this.#countingProblem() },
      { name: 'lag', problem: () => this.#lagProblem() },
    ];
  }

  /** Boots the threads, which wait at the gate until `start`. */
  boot(pace: StartPace = 'at once'): Promise<void> {
    for (let shard = 0; shard < this.#options.threads; shard++) {
      this.states.push(this.#create(shard));
    }
    const threads = this.states.map(({ thread }) => thread);
    this.#booted = startThreads(threads, pace);
    this.#booted.catch(() => undefined);
    return this.#booted;
  }

  /**
   * Opens the gate: this process counts from here on. @returns true when the shards have counted the journals, false after `msMax`
   */
  async start(msMax: number): Promise<boolean> {
    const caughtUp = new Promise<boolean>((resolve, reject) => {
      const timer = setTimeout(() => resolve(false), msMax);
      this.#onFailed = (error) => {
        clearTimeout(timer);
        reject(error);
      };
      this.#onCaughtUp = () => {
        if (!this.states.every((shard) => shard.isCaughtUp)) return;
        clearTimeout(timer);
        resolve(true);
      };
    });
    for (const state of this.states) state.lastFiguresMs = this.#options.clock.monotonicMs();
    Atomics.store(this.#gate, 0, 1);
    Atomics.notify(this.#gate, 0);
    return await Promise.race([this.#booted.then(() => caughtUp), caughtUp]);
  }

  /** After a `start`, counts all journaled scans first. `boot` and `start` may follow. */
  async stop(): Promise<void> {
    const msMax = Atomics.load(this.#gate, 0) === 0 ? 0 : stopMsMax;
    await Promise.all(this.states.map(({ thread }) => thread.stop({ kind: 'stop' }, msMax)));
    Atomics.store(this.#gate, 0, 0);
    this.#countedAtStop = this.counted();
    this.states.length = 0;
  }

  setZones(zones: readonly WorkspaceZone[]): void {
    for (const { thread } of this.states) thread.send({ kind: 'zones', zones });
  }

  /** Shards may expire blocks up to this one: their deliveries exist. */
  releaseBlocks(block: number): void {
    if (block === this.#deliveredBlock) return;
    this.#deliveredBlock = block;
    for (const { thread } of this.states) thread.send({ kind: 'delivered', block });
  }

  /** @param listener called with codes whose numbers `expire` has removed @returns stops listening */
  onExpired(listener: (codeNos: readonly CodeNo[]) => void): () => void {
    this.#onExpired.add(listener);
    return () => void this.#onExpired.delete(listener);
  }

  /** Asks the shards of these codes to remove their numbers. A thread that dies loses the request. */
  expire(codes: Extract<ShardCommand, { kind: 'expire' }>['codes']): void {
    const count = this.states.length;
    for (const [index, { thread }] of this.states.entries()) {
      const own = codes.filter(({ codeNo }) => partitionOf(codeNo) % count === index);
      if (own.length > 0) thread.send({ kind: 'expire', codes: own });
    }
  }

  /**
   * By journal, the position below which every shard has synced its scans; without journals that a shard has not reported.
   * After a stop, the positions at its end.
   */
  counted(): ReadonlyMap<number, number> {
    if (this.states.length === 0) return this.#countedAtStop;
    const [first = new Map<number, number>(), ...others] = this.states.map((one) => one.consumed);
    const counted = new Map<number, number>();
    for (const [journal, position] of first) {
      const positions = others.map((other) => other.get(journal));
      const known = positions.filter((other) => other !== undefined);
      if (known.length === others.length) counted.set(journal, Math.min(position, ...known));
    }
    return counted;
  }

  #counted(shard: number): JournalPositions {
    const { journals, store, threads } = this.#options;
    const counted = new JournalPositions();
    for (const journal of journals.tails.journals) {
      let lowest = Infinity;
      for (let partition = shard; partition < partitionCount; partition += threads) {
        const mark = store.watermarks.get(journal * partitionCount + partition) ?? 0;
        lowest = Math.min(lowest, mark);
      }
      if (lowest !== Infinity) counted.publish(journal, lowest);
    }
    return counted;
  }

  #create(shard: number): ShardState {
    const { clock, log } = this.#options;
    const state: ShardState = {
      thread: new SupervisedThread({
        file: shipped.workerFile('shard'),
        clock,
        setup: async () => {
          await this.#options.whenInPlace();
          return this.#setup(shard);
        },
        onMessage: (message) => this.#onMessage(state, message),
        onDeath: (reason, restarts) => {
          log.error({ shard, reason, restarts }, 'a shard thread failed, restarting');
          this.#onFailed?.(new Error(`Cannot start a shard: ${reason}`));
          state.before = shardTotals(state);
          state.figures = undefined;
          state.damage = [];
        },
      }),
      figures: undefined,
      damage: [],
      fault: undefined,
      journalFault: undefined,
      lastFiguresMs: clock.monotonicMs(),
      isCaughtUp: false,
      before: { scans: 0, bots: 0, missed: 0, damagedScans: 0 },
      consumed: new Map(),
    };
    return state;
  }

  #setup(shard: number): ShardSetup {
    const { rawRetentionDays, threads, bounds, storePlace, journals, visitor } = this.#options;
    const consumed = this.#consumed[shard]!.memory;
    return {
      ...bounds,
      rawRetentionDays,
      shard,
      shards: threads,
      gate: this.#gate,
      rhythm,
      store: storePlace,
      consumed,
      journalRoot: journals.root,
      tails: journals.tails.memory,
      visitor,
      zones: this.#options.zones?.() ?? [],
      deliveredBlock: this.#deliveredBlock,
    };
  }

  #onMessage(state: ShardState, message: ShardMessage): void {
    if (message.kind === 'booted') return;
    if (message.kind === 'caught-up') {
      this.onSeen?.(message.seen);
      state.isCaughtUp = true;
      this.#onCaughtUp?.();
    } else if (message.kind === 'committed') {
      this.committed.fire();
    } else if (message.kind === 'expired') {
      for (const listener of this.#onExpired) listener(message.codeNos);
    } else if (message.kind === 'figures') {
      this.#logProblems(state, message);
      state.figures = message.figures;
      state.damage = message.damage;
      this.measured.fire();
      state.fault = message.fault;
      if (message.fault !== undefined) this.refused.fire();
      state.journalFault = message.journalFault;
      state.lastFiguresMs = this.#options.clock.monotonicMs();
    } else {
      state.consumed = new Map(message.consumed.map((mark) => [mark.journal, mark.position]));
      this.#deleteCountedSegments();
    }
  }

  #logProblems(
    state: ShardState,
    { figures, fault, journalFault }: ShardMessage & { kind: 'figures' },
  ): void {
    const { log } = this.#options;
    if (fault !== undefined && fault !== state.fault) {
      log.error({ fault }, 'storing scans failed, retrying');
    }
    if (journalFault !== undefined && state.journalFault === undefined) {
      log.error({ journalFault }, 'reading a journal failed, retrying');
    }
    const { damagedScans, damagedBytes, lostBlocks } = figures;
    const known = state.figures;
    if (lostBlocks > (known?.lostBlocks ?? 0)) {
      log.error(
        { lostBlocks },
        'blocks of scans are damaged, scans in no other record are not counted',
      );
    }
    const isMore =
      damagedScans > (known?.damagedScans ?? 0) || damagedBytes > (known?.damagedBytes ?? 0);
    if (!isMore) return;
    log.error({ damagedScans, damagedBytes }, 'a journal is damaged, unreadable scans are skipped');
  }

  #deleteCountedSegments(): void {
    for (const [journal, position] of this.counted()) {
      this.#options.journals.deleteBelow(journal, position);
    }
  }

  #storeProblem(): string | undefined {
    const fault = this.states.find((state) => state.fault !== undefined)?.fault;
    return fault && `scans wait in the journal, the store cannot be used: ${fault}`;
  }

  #countingProblem(): string | undefined {
    const silentMs = this.#longestMs(({ lastFiguresMs }, _, nowMs) => nowMs - lastFiguresMs);
    if (silentMs > silentMsMax) {
      return `a shard has sent no figures for ${Math.round(silentMs / 1_000)} s`;
    }
    const fault = this.states.find((state) => state.journalFault !== undefined)?.journalFault;
    return fault && `scans wait in the journal, which cannot be read: ${fault}`;
  }

  #lagProblem(): string | undefined {
    const lagMs = this.#longestMs((_, shard, nowMs) => this.lag.of(shard, nowMs).ms);
    return lagMs <= lagMsMax ? undefined : `counting is ${Math.round(lagMs / 1_000)} s behind`;
  }

  #longestMs(msOf: (state: ShardState, shard: number, nowMs: number) => number): number {
    const nowMs = this.#options.clock.monotonicMs();
    return Math.max(0, ...this.states.map((state, shard) => msOf(state, shard, nowMs)));
  }
}

export function shardTotals({ figures, before }: ShardState): ShardTotals {
  return {
    scans: before.scans + (figures?.scans ?? 0),
    bots: before.bots + (figures?.bots ?? 0),
    missed: before.missed + (figures?.missed ?? 0),
    damagedScans: before.damagedScans + (figures?.damagedScans ?? 0),
  };
}
