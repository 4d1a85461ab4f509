/**
 * The shards: threads that count scans, started, supervised and stopped together.
 * A shard that dies starts again where the store's watermarks say, so nothing is lost or counted twice.
 */
import type { Config } from '../config.ts';
import type { Clock } from '../model/clock.ts';
import { partitionOf } from '../model/code.ts';
import { Signal } from '../model/signal.ts';
import type { ShardFigures } from '../scans/shard.ts';
import type { ShardCommand, ShardMessage, ShardSetup } from '../scans/shard-thread.ts';
import type { VisitorSetup } from '../scans/visitor/visitor.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Logger } from '../telemetry/log.ts';
import { SupervisedThread } from '../workers/supervised-thread.ts';
import type { Journals } from './journals.ts';
import type { CodeNo } from '../model/numbers.ts';

/** Shards may take this long to count what is left when the service stops. */
const stopMsMax = 8_000;
/** Uncounted scans older than this make the service not ready: the numbers no longer keep up. */
const lagMsMax = 30_000;

/** Counted since the start of the service, by a shard and its predecessors. */
type ShardTotals = Pick<ShardFigures, 'scans' | 'bots' | 'damagedScans'>;

export interface ShardState {
  readonly thread: SupervisedThread<ShardSetup, ShardCommand, ShardMessage>;
  /** Of the thread that runs now. */
  figures: ShardFigures | undefined;
  fault: string | undefined;
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
  readonly storeFile: string;
  readonly journals: Journals;
  readonly visitor: VisitorSetup;
}

export class ShardThreads {
  readonly #options: ShardThreadsOptions;
  readonly states: ShardState[] = [];
  /** Fired when a shard has committed a window with scans: there are new blocks. */
  readonly committed = new Signal();
  #deliveredBlock = 0;
  #onCaughtUp: (() => void) | undefined;
  #onFailed: ((error: Error) => void) | undefined;
  /** Called with the codes of which `expire` has removed everything. */
  onExpired: ((codeNos: readonly CodeNo[]) => void) | undefined;

  constructor(options: ShardThreadsOptions) {
    this.#options = options;
  }

  get checks(): HealthCheck[] {
    return [
      { name: 'scans', problem: () => this.#storeProblem() },
      { name: 'lag', problem: () => this.#lagProblem() },
    ];
  }

  /** Resolves when the shards have counted what the journals held (true), or after `msMax` (false). */
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
    for (let shard = 0; shard < this.#options.threads; shard++) {
      this.states.push(this.#create(shard));
    }
    await Promise.all(this.states.map(({ thread }) => thread.start()));
    return caughtUp;
  }

  async stop(): Promise<void> {
    await Promise.all(this.states.map(({ thread }) => thread.stop({ kind: 'stop' }, stopMsMax)));
  }

  /** Deliveries are made of the blocks up to here: shards may expire them. */
  releaseBlocks(block: number): void {
    if (block === this.#deliveredBlock) return;
    this.#deliveredBlock = block;
    for (const { thread } of this.states) thread.send({ kind: 'delivered', block });
  }

  /** Asks the owners of these codes to remove their numbers; may be lost with a thread. */
  expire(codes: Extract<ShardCommand, { kind: 'expire' }>['codes']): void {
    const count = this.states.length;
    for (const [index, { thread }] of this.states.entries()) {
      const own = codes.filter(({ codeNo }) => partitionOf(codeNo) % count === index);
      if (own.length > 0) thread.send({ kind: 'expire', codes: own });
    }
  }

  #create(shard: number): ShardState {
    const { clock, log } = this.#options;
    const state: ShardState = {
      thread: new SupervisedThread({
        file: new URL('../scans/shard.worker.ts', import.meta.url),
        clock,
        setup: () => this.#setup(shard),
        onMessage: (message) => this.#onMessage(state, message),
        onDeath: (reason, restarts) => {
          log.error({ shard, reason, restarts }, 'a shard thread failed, restarting');
          this.#onFailed?.(new Error(`Cannot start a shard: ${reason}`));
          state.before = shardTotals(state);
          state.figures = undefined;
        },
      }),
      figures: undefined,
      fault: undefined,
      isCaughtUp: false,
      before: { scans: 0, bots: 0, damagedScans: 0 },
      consumed: new Map(),
    };
    return state;
  }

  #setup(shard: number): ShardSetup {
    const { settings, threads, storeFile, journals, visitor } = this.#options;
    return {
      ...settings,
      shard,
      shards: threads,
      storeFile,
      journalRoot: journals.root,
      tails: journals.tails.memory,
      visitor,
      deliveredBlock: this.#deliveredBlock,
    };
  }

  #onMessage(state: ShardState, message: ShardMessage): void {
    if (message.kind === 'caught-up') {
      state.isCaughtUp = true;
      this.#onCaughtUp?.();
    } else if (message.kind === 'committed') {
      this.committed.fire();
    } else if (message.kind === 'expired') {
      this.onExpired?.(message.codeNos);
    } else if (message.kind === 'figures') {
      this.#logProblems(state, message.figures, message.fault);
      state.figures = message.figures;
      state.fault = message.fault;
    } else {
      state.consumed = new Map(message.consumed.map((mark) => [mark.journal, mark.position]));
      this.#deleteCountedSegments();
    }
  }

  #logProblems(state: ShardState, figures: ShardFigures, fault: string | undefined): void {
    const { log } = this.#options;
    if (fault !== undefined && fault !== state.fault) {
      log.error({ fault }, 'storing scans failed, retrying');
    }
    const { damagedScans, damagedBytes } = figures;
    const known = state.figures;
    const isMore =
      damagedScans > (known?.damagedScans ?? 0) || damagedBytes > (known?.damagedBytes ?? 0);
    if (!isMore) return;
    log.error({ damagedScans, damagedBytes }, 'a journal is damaged, unreadable scans are skipped');
  }

  /** A segment that every shard has counted is no longer needed. */
  #deleteCountedSegments(): void {
    for (const journal of this.states[0]?.consumed.keys() ?? []) {
      const positions = this.states.map((shard) => shard.consumed.get(journal) ?? 0);
      this.#options.journals.deleteBelow(journal, Math.min(...positions));
    }
  }

  #storeProblem(): string | undefined {
    const fault = this.states.find((state) => state.fault !== undefined)?.fault;
    return fault && `scans wait in the journal, the store cannot be written: ${fault}`;
  }

  #lagProblem(): string | undefined {
    const lagMs = Math.max(0, ...this.states.map((state) => state.figures?.lagMs ?? 0));
    return lagMs <= lagMsMax ? undefined : `counting is ${Math.round(lagMs / 1_000)} s behind`;
  }
}

export function shardTotals({ figures, before }: ShardState): ShardTotals {
  return {
    scans: before.scans + (figures?.scans ?? 0),
    bots: before.bots + (figures?.bots ?? 0),
    damagedScans: before.damagedScans + (figures?.damagedScans ?? 0),
  };
}
