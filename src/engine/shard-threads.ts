/**
 * The shards: threads that count scans, started, supervised and stopped together.
 * A shard that dies starts again where the store's watermarks say, so nothing is lost or counted twice.
 */
import type { Config } from '../config.ts';
import type { Clock } from '../model/clock.ts';
import { shipped } from '../shipped.ts';
import { partitionCount, partitionOf } from '../model/code.ts';
import { Signal } from '../model/signal.ts';
import type { MarkRepair } from '../scans/mark-recovery.ts';
import type { ShardFigures } from '../scans/shard.ts';
import type { WorkspaceZone } from '../scans/days/zone-cuts.ts';
import type { Place } from '../scans/journal/place.ts';
import { JournalPositions } from '../scans/journal/positions.ts';
import {
  countingMsMax,
  flushMsMax,
  type ShardCommand,
  type ShardMessage,
  type ShardSetup,
} from '../scans/shard-thread.ts';
import type { VisitorSetup } from '../scans/visitor/visitor.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { DamagedPlace } from '../store/damage.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Logger } from '../telemetry/log.ts';
import { type StartPace, startThreads, SupervisedThread } from '../workers/supervised-thread.ts';
import { JournalLag } from './watch/journal-lag.ts';
import type { Journals } from './journals.ts';
import type { SeenNumbers } from './installation/numbers.ts';
import type { CodeNo } from '../model/numbers.ts';

/** A stopping shard is cut off when it should long have ended. */
const stopMsMax = countingMsMax + flushMsMax + 1_000;
/** Uncounted scans older than this make the service not ready: the numbers no longer keep up. */
const lagMsMax = 30_000;
const rhythm = { figuresMs: 1_000, checkMs: 4_000 };
/** Shards send figures every second, every four while they sleep; one that sends none for so long may not be counting. */
const silentMsMax = 10_000;

/** Counted since the start of the service, by a shard and its predecessors. */
type ShardTotals = Pick<ShardFigures, 'scans' | 'bots' | 'missed' | 'damagedScans'>;

export interface ShardState {
  readonly thread: SupervisedThread<ShardSetup, ShardCommand, ShardMessage>;
  /** Of the thread that runs now. */
  figures: ShardFigures | undefined;
  /** Of the thread that runs now. */
  damage: readonly DamagedPlace[];
  fault: string | undefined;
  journalFault: string | undefined;
  /** When it last sent figures, or was first started. */
  lastFiguresMs: number;
  isCaughtUp: boolean;
  /** Of its predecessors that died. */
  before: ShardTotals;
  consumed: ReadonlyMap<number, number>;
}

export interface ShardThreadsOptions {
  readonly settings: Config['scans'];
  readonly threads: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: ScanStore;
  /** Of the store's file. */
  readonly storePlace: Place;
  readonly journals: Journals;
  /** Time zones of workspaces that have another than UTC, as they are now; absent = none has. */
  readonly zones?: (() => readonly WorkspaceZone[]) | undefined;
  /** Resolves when the data folder is where it was: a thread that starts opens its files there. */
  readonly whenInPlace: () => Promise<void>;
  /** No shard starts before it is there. */
  readonly visitor: Promise<VisitorSetup>;
}

export class ShardThreads {
  readonly #options: ShardThreadsOptions;
  readonly states: ShardState[] = [];
  /** Fired when a shard has committed a window with scans: there are new blocks. */
  readonly committed = new Signal();
  /** Fired when a shard has sent its figures. */
  readonly measured = new Signal();
  /** Fired when a shard has said that the store refused a commit. */
  readonly refused = new Signal();
  /** What is not counted yet, by shard. */
  readonly lag: JournalLag;
  readonly #consumed: readonly JournalPositions[];
  #countedAtStop: ReadonlyMap<number, number> = new Map();
  /** 0 = shard threads wait before they open the store, 1 = open. */
  readonly #gate = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #deliveredBlock = 0;
  /** When `visitor` was there: no shard starts, or sends figures, before. */
  #visitorMs = Infinity;
  #booted: Promise<void> = Promise.resolve();
  #onCaughtUp: (() => void) | undefined;
  #onFailed: ((error: Error) => void) | undefined;
  readonly #onExpired = new Set<(codeNos: readonly CodeNo[]) => void>();
  /** Called with the numbers in the scans that a shard has counted when it has caught up. */
  onSeen: ((seen: SeenNumbers) => void) | undefined;

  constructor(options: ShardThreadsOptions) {
    this.#options = options;
    this.#consumed = Array.from({ length: options.threads }, (_, shard) => this.#counted(shard));
    this.lag = new JournalLag(options.journals.tails, this.#consumed);
  }

  /** Damaged records that shards came upon. */
  get damage(): readonly DamagedPlace[] {
    return this.states.flatMap(({ damage }) => damage);
  }

  get checks(): HealthCheck[] {
    return [
      { name: 'scans', problem: () => this.#storeProblem() },
      { name: 'counting', problem: () => this.#countingProblem() },
      { name: 'lag', problem: () => this.#lagProblem() },
    ];
  }

  /** Boots the threads; they wait at the gate until `start`. */
  boot(pace: StartPace = 'at once'): Promise<void> {
    for (let shard = 0; shard < this.#options.threads; shard++) {
      this.states.push(this.#create(shard));
    }
    void this.#options.visitor.then(() => this.#onVisitor());
    const threads = this.states.map(({ thread }) => thread);
    this.#booted = startThreads(threads, pace);
    // `start` says why.
    this.#booted.catch(() => undefined);
    return this.#booted;
  }

  /**
   * Opens the gate: from here on this process counts.
   * @returns resolves when the shards have counted what the journals held (true), or after `msMax` (false)
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

  /** What is journaled by now is counted, where `start` was called; `boot` and `start` may begin again. */
  async stop(): Promise<void> {
    const msMax = Atomics.load(this.#gate, 0) === 0 ? 0 : stopMsMax;
    await Promise.all(this.states.map(({ thread }) => thread.stop({ kind: 'stop' }, msMax)));
    Atomics.store(this.#gate, 0, 0);
    this.#countedAtStop = this.counted();
    this.states.length = 0;
  }

  /** Days that begin from now on are cut at the midnights of these. */
  setZones(zones: readonly WorkspaceZone[]): void {
    for (const { thread } of this.states) thread.send({ kind: 'zones', zones });
  }

  #onVisitor(): void {
    this.#visitorMs = this.#options.clock.monotonicMs();
  }

  /** Deliveries are made of the blocks up to here: shards may expire them. */
  releaseBlocks(block: number): void {
    if (block === this.#deliveredBlock) return;
    this.#deliveredBlock = block;
    for (const { thread } of this.states) thread.send({ kind: 'delivered', block });
  }

  /** Listens to which codes `expire` has removed everything of. @returns stops listening */
  onExpired(listener: (codeNos: readonly CodeNo[]) => void): () => void {
    this.#onExpired.add(listener);
    return () => void this.#onExpired.delete(listener);
  }

  /** Asks the owners of these codes to remove their numbers; may be lost with a thread. */
  expire(codes: Extract<ShardCommand, { kind: 'expire' }>['codes']): void {
    const count = this.states.length;
    for (const [index, { thread }] of this.states.entries()) {
      const own = codes.filter(({ codeNo }) => partitionOf(codeNo) % count === index);
      if (own.length > 0) thread.send({ kind: 'expire', codes: own });
    }
  }

  /**
   * By journal, the position below which every shard has its scans on the disk, whatever happens to the machine; without
   * journals that a shard has not told of yet. After a stop as it was at its end.
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

  /** Where a shard begins: until it runs, this is how far its share is counted. */
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
          return this.#setup(shard, await this.#options.visitor);
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

  #setup(shard: number, visitor: VisitorSetup): ShardSetup {
    const { settings, threads, storePlace, journals } = this.#options;
    const consumed = this.#consumed[shard]!.memory;
    return {
      ...settings,
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
    } else if (message.kind === 'repaired') {
      logRepairs(this.#options.log, message.repairs);
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
        'blocks of scans are damaged, scans that only they hold are not counted',
      );
    }
    const isMore =
      damagedScans > (known?.damagedScans ?? 0) || damagedBytes > (known?.damagedBytes ?? 0);
    if (!isMore) return;
    log.error({ damagedScans, damagedBytes }, 'a journal is damaged, unreadable scans are skipped');
  }

  /** A segment that every shard has counted is no longer needed. */
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

  /** Of all shards, since `visitor` was there: before, a balancer would take redirects away that work. */
  #longestMs(msOf: (state: ShardState, shard: number, nowMs: number) => number): number {
    const nowMs = this.#options.clock.monotonicMs();
    const longestMs = Math.max(0, ...this.states.map((state, shard) => msOf(state, shard, nowMs)));
    return Math.min(longestMs, nowMs - this.#visitorMs);
  }
}

export function logRepairs(log: Logger, repairs: readonly MarkRepair[]): void {
  for (const { isExact, ...repair } of repairs) {
    if (isExact)
      log.error(repair, 'a damaged mark of counting was found again, every scan counts once');
    else
      log.error(
        repair,
        'a damaged mark of counting was estimated, some scans may count twice or not at all',
      );
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
