/**
 * The engine's threads: redirect threads and shards, started, watched and stopped together.
 *
 *   start   journals recovered -> shards (catch up) -> [links loaded by app] -> redirect threads
 *   run     figures every second; journal segments below every shard's position are deleted
 *   stop    redirect threads drain -> shards count what is left -> everything is in the store
 *
 * A thread that dies is started again: a redirect thread begins where its journal ends, a shard where
 * the store's watermarks say, so nothing is lost or counted twice.
 */
import { randomBytes } from 'node:crypto';
import { build, decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { type Config, threadCounts } from '../config.ts';
import type { DataFolder } from './data-folder.ts';
import { MissThrottle } from '../http/miss-throttle.ts';
import { ListenError } from '../http/port.ts';
import {
  latencyRange,
  type RedirectFigures,
  type RedirectMessage,
  type RedirectCommand,
  type RedirectSetup,
} from '../http/redirect-thread.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Clock } from '../model/clock.ts';
import { type ExpiredCode, partitionOf } from '../model/code.ts';
import { Counting } from '../scans/counting.ts';
import { Signal } from '../model/signal.ts';
import {
  journalFolder,
  listJournals,
  recoverJournal,
  trimJournal,
} from '../scans/journal/segments.ts';
import { JournalTails } from '../scans/journal/tails.ts';
import type { ShardFigures } from '../scans/shard.ts';
import type { ShardMessage, ShardCommand, ShardSetup } from '../scans/shard-thread.ts';
import type { VisitorSetup } from '../scans/visitor/visitor.ts';
import { highestWatermark, type ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';
import { SupervisedThread } from '../workers/supervised-thread.ts';

/** Shards may take this long to count what is left when the service stops. */
const shardStopMsMax = 8_000;
/** Redirect threads are cut off this long after their own drain should have ended. */
const drainGraceMs = 2_000;
export const refusalKinds = ['unknown', 'gone', 'throttled', 'method'] as const;

export interface ThreadsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly folder: DataFolder;
  readonly store: ScanStore;
  readonly links: LinkTableMemory;
  readonly visitor: VisitorSetup;
}

type RedirectSupervisor = SupervisedThread<RedirectSetup, RedirectCommand, RedirectMessage>;
type ShardSupervisor = SupervisedThread<ShardSetup, ShardCommand, ShardMessage>;

export interface RedirectState {
  readonly thread: RedirectSupervisor;
  isListening: boolean;
  /** Of the thread that runs now. */
  figures: RedirectFigures | undefined;
  /** Of its predecessors that died. */
  redirectsBefore: number;
  droppedBefore: number;
  refusedBefore: Record<keyof RedirectFigures['refused'], number>;
}

export interface ShardState {
  readonly thread: ShardSupervisor;
  figures: ShardFigures | undefined;
  fault: string | undefined;
  isCaughtUp: boolean;
  scansBefore: number;
  botsBefore: number;
  damagedBefore: number;
  consumed: ReadonlyMap<number, number>;
}

export class EngineThreads {
  readonly #options: ThreadsOptions;
  readonly #tails = new JournalTails();
  readonly #missSeed = randomBytes(4).readInt32LE();
  readonly #misses: SharedArrayBuffer;
  /** 0 = redirect threads wait before they listen, 1 = open. */
  readonly #gate = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly redirects: RedirectState[] = [];
  readonly shards: ShardState[] = [];
  /** Fired when a shard has committed a window with scans: there are new blocks. */
  readonly committed = new Signal();
  /** Microseconds, all redirect threads, since the start: a count of 32 bits would wrap within weeks. */
  readonly latency = build({
    bitBucketSize: 64,
    ...latencyRange,
  });
  #port = 0;
  #deliveredBlock = 0;
  #onListening: ((reason: string | undefined) => void) | undefined;
  #onCaughtUp: (() => void) | undefined;
  #onShardsFailed: ((error: Error) => void) | undefined;
  /** Called with the codes of which `expire` has removed everything. */
  onExpired: ((codeNos: readonly number[]) => void) | undefined;

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.#misses = new MissThrottle(0, 0).memory;
    this.#recoverJournals();
  }

  /** The port of short links, once `startRedirects` has resolved. */
  get port(): number {
    return this.#port;
  }

  /** Starts the shards; resolves when they have counted what the journals held, or after `msMax`. */
  async startShards(msMax: number): Promise<boolean> {
    const { shards } = threadCounts(this.#options.config);
    const caughtUp = new Promise<boolean>((resolve, reject) => {
      const timer = setTimeout(() => resolve(false), msMax);
      this.#onShardsFailed = (error) => {
        clearTimeout(timer);
        reject(error);
      };
      this.#onCaughtUp = () => {
        if (!this.shards.every((shard) => shard.isCaughtUp)) return;
        clearTimeout(timer);
        resolve(true);
      };
    });
    for (let shard = 0; shard < shards; shard++) {
      this.shards.push(this.#createShard(shard, shards));
    }
    await Promise.all(this.shards.map((shard) => shard.thread.start()));
    return caughtUp;
  }

  /**
   * Boots the redirect threads; they wait at the gate until the link table is filled.
   * @returns opens the gate; resolves when all listen, rejects with the reason when one cannot
   */
  async bootRedirects(): Promise<() => Promise<void>> {
    const { redirect } = threadCounts(this.#options.config);
    const listening = new Promise<void>((resolve, reject) => {
      this.#onListening = (reason) => {
        if (reason !== undefined) reject(new ListenError(reason));
        else if (this.redirects.every((state) => state.isListening)) resolve();
      };
    });
    // Whoever opens the gate hears of a failure; until then nobody listens for it.
    listening.catch(() => undefined);
    for (let thread = 0; thread < redirect; thread++) {
      this.redirects.push(this.#createRedirect(thread));
    }
    await Promise.all(this.redirects.map((state) => state.thread.start()));
    return () => {
      this.#openGate();
      return listening;
    };
  }

  #openGate(): void {
    Atomics.store(this.#gate, 0, 1);
    Atomics.notify(this.#gate, 0);
  }

  /** How far the scans that are answered by now are counted. */
  counting(): Counting {
    const { store, folder } = this.#options;
    return new Counting(store, this.#tails, folder.journalRoot);
  }

  /** Deliveries were made of the blocks up to here: shards may trim them. */
  tellDelivered(block: number): void {
    if (block === this.#deliveredBlock) return;
    this.#deliveredBlock = block;
    for (const { thread } of this.shards) thread.send({ kind: 'delivered', block });
  }

  /** Asks the owners of these codes to remove their numbers; may be lost with a thread. */
  expire(codes: readonly ExpiredCode[]): void {
    const count = this.shards.length;
    for (const [index, { thread }] of this.shards.entries()) {
      const own = codes.filter(({ codeNo }) => partitionOf(codeNo) % count === index);
      if (own.length > 0) thread.send({ kind: 'expire', codes: own });
    }
  }

  async stop(): Promise<void> {
    this.#openGate();
    const drainMs = this.#options.config.redirect.drainMsMax + drainGraceMs;
    await Promise.all(this.redirects.map(({ thread }) => thread.stop({ kind: 'drain' }, drainMs)));
    await Promise.all(
      this.shards.map(({ thread }) => thread.stop({ kind: 'stop' }, shardStopMsMax)),
    );
  }

  #recoverJournals(): void {
    const { folder, store, log, config } = this.#options;
    const numbers = new Set(listJournals(folder.journalRoot));
    for (let thread = 0; thread < threadCounts(config).redirect; thread++) numbers.add(thread);
    for (const journal of numbers) this.#recover(journal, folder, store, log);
  }

  #recover(journal: number, folder: DataFolder, store: ScanStore, log: Logger): number {
    const { position, tornBytes } = recoverJournal(
      journalFolder(folder.journalRoot, journal),
      highestWatermark(store, journal),
    );
    if (tornBytes > 0) log.warn({ journal, tornBytes }, 'cut a torn tail off a journal');
    this.#tails.publish(journal, position);
    return position;
  }

  #createShard(shard: number, shards: number): ShardState {
    const { config, clock, folder, visitor, log } = this.#options;
    const { windowMs, windowBytesMax, actorsMax, namesPerDayMax, rawRetentionDays } = config.scans;
    const thread: ShardSupervisor = new SupervisedThread({
      file: new URL('../scans/shard.worker.ts', import.meta.url),
      clock,
      setup: () => ({
        shard,
        shards,
        storeFile: folder.scansFile,
        journalRoot: folder.journalRoot,
        tails: this.#tails.memory,
        visitor,
        windowMs,
        windowBytesMax,
        actorsMax,
        namesPerDayMax,
        rawRetentionDays,
        deliveredBlock: this.#deliveredBlock,
      }),
      onMessage: (report) => this.#onShardReport(state, report),
      onDeath: (reason, restarts) => {
        log.error({ shard, reason, restarts }, 'a shard thread died, starting it again');
        this.#onShardsFailed?.(new Error(`Cannot start a shard: ${reason}`));
        state.scansBefore += state.figures?.scans ?? 0;
        state.botsBefore += state.figures?.bots ?? 0;
        state.damagedBefore += state.figures?.damagedScans ?? 0;
        state.figures = undefined;
      },
    });
    const state: ShardState = {
      thread,
      figures: undefined,
      fault: undefined,
      isCaughtUp: false,
      scansBefore: 0,
      botsBefore: 0,
      damagedBefore: 0,
      consumed: new Map(),
    };
    return state;
  }

  #onShardReport(state: ShardState, report: ShardMessage): void {
    if (report.kind === 'caught-up') {
      state.isCaughtUp = true;
      this.#onCaughtUp?.();
    } else if (report.kind === 'committed') {
      this.committed.fire();
    } else if (report.kind === 'expired') {
      this.onExpired?.(report.codeNos);
    } else if (report.kind === 'figures') {
      if (report.fault !== undefined && report.fault !== state.fault) {
        this.#options.log.error({ fault: report.fault }, 'scans cannot be stored, trying again');
      }
      this.#reportDamage(state, report.figures);
      state.figures = report.figures;
      state.fault = report.fault;
    } else if (report.kind === 'consumed') {
      state.consumed = new Map(report.consumed.map((mark) => [mark.journal, mark.position]));
      this.#trimJournals();
    }
  }

  #reportDamage(state: ShardState, { damagedScans, damagedBytes }: ShardFigures): void {
    const known = state.figures;
    const isMore =
      damagedScans > (known?.damagedScans ?? 0) || damagedBytes > (known?.damagedBytes ?? 0);
    if (!isMore) return;
    this.#options.log.error(
      { damagedScans, damagedBytes },
      'a journal is damaged, what cannot be read is not counted',
    );
  }

  #trimJournals(): void {
    const { folder, log } = this.#options;
    for (const journal of this.shards[0]?.consumed.keys() ?? []) {
      const position = Math.min(...this.shards.map((shard) => shard.consumed.get(journal) ?? 0));
      try {
        trimJournal(journalFolder(folder.journalRoot, journal), position);
      } catch (error) {
        log.error({ error: String(error), journal }, 'a journal cannot be trimmed, trying again');
      }
    }
  }

  #createRedirect(index: number): RedirectState {
    const { config, clock, folder, store, links, log } = this.#options;
    const { segmentBytesMax, backlogBytesMax, syncIntervalMs } = config.scans;
    const { host, port, tlsCertFile, tlsKeyFile, unknownPerMinuteMax, drainMsMax } =
      config.redirect;
    const thread: RedirectSupervisor = new SupervisedThread({
      file: new URL('../http/redirect.worker.ts', import.meta.url),
      clock,
      setup: () => ({
        thread: index,
        host,
        port,
        tlsCertFile,
        tlsKeyFile,
        links,
        misses: this.#misses,
        gate: this.#gate,
        missSeed: this.#missSeed,
        unknownPerMinuteMax,
        trustedProxies: config.trustedProxies,
        trustedProxyHeader: config.trustedProxyHeader,
        durability: config.durability,
        journalFolder: journalFolder(folder.journalRoot, index),
        journalPosition: this.#recover(index, folder, store, log),
        tails: this.#tails.memory,
        segmentBytesMax,
        backlogBytesMax,
        syncIntervalMs,
        drainMsMax,
      }),
      onMessage: (report) => this.#onRedirectReport(state, report),
      onDeath: (reason, restarts) => {
        log.error({ thread: index, reason, restarts }, 'a redirect thread died, starting it again');
        carryOver(state);
        this.#onListening?.(`Cannot start a redirect thread: ${reason}`);
      },
    });
    const state: RedirectState = {
      thread,
      isListening: false,
      figures: undefined,
      redirectsBefore: 0,
      droppedBefore: 0,
      refusedBefore: { unknown: 0, gone: 0, throttled: 0, method: 0 },
    };
    return state;
  }

  #onRedirectReport(state: RedirectState, report: RedirectMessage): void {
    if (report.kind === 'listening') {
      state.isListening = true;
      this.#port = report.port;
      this.#onListening?.(undefined);
    } else if (report.kind === 'cannot-listen') {
      const { host, port } = this.#options.config.redirect;
      this.#onListening?.(`Cannot listen on ${host}:${port}: ${report.reason}`);
    } else {
      const { figures } = report;
      const { journalFault } = figures;
      if (journalFault !== undefined && journalFault !== state.figures?.journalFault) {
        this.#options.log.error(
          { journalFault },
          'a journal cannot be written, scans wait in memory',
        );
      }
      const lostScans = report.kind === 'stopped' ? figures.waitingScans : 0;
      if (lostScans > 0) {
        this.#options.log.error({ lostScans }, 'stopped with scans that no journal would take');
      }
      state.figures = figures;
      if (figures.latency !== '') this.latency.add(decodeFromCompressedBase64(figures.latency));
    }
  }
}

function carryOver(state: RedirectState): void {
  const { figures } = state;
  state.isListening = false;
  state.figures = undefined;
  if (figures === undefined) return;
  state.redirectsBefore += figures.redirects;
  // What waited in the thread's memory died with it.
  state.droppedBefore += figures.droppedScans + figures.waitingScans;
  for (const kind of refusalKinds) state.refusedBefore[kind] += figures.refused[kind];
}
