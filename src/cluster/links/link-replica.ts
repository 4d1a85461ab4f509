/**
 * Follows the feed of links of a cluster, on an edge: frames into the store, then into the link table.
 *
 *   connect ──▶ frames ──▶ store, in one transaction with their number ──▶ link table ──▶ `applied`
 *      ▲                                                                        │
 *      └── next core, after a pause ◀── 2 s without a beat of a current core ◀──┘
 *
 * While nothing comes the edge redirects by what it has. The next piece is read when the one before it is applied, so a
 * snapshot of any size takes a few megabytes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Clock } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import { Signal } from '../../model/signal.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type LinkFrame, LinkFrameDecoder } from './link-frames.ts';
import { ReplicaStore } from './replica-store.ts';

/** Without a beat of a core that follows the log for so long, links may be old: the edge asks another core. */
const silentMsMax = 2_000;
const connectMsMax = 2_000;
const firstPauseMs = 50;
const pauseMsMax = 2_000;
/** Bytes of a snapshot in one transaction: about 2,700 blocks, 20 ms. */
const transactionBytes = 4_194_304;
/** Of a frame without a block, about. */
const frameBytes = 64;

/** The link table of this process, as the feed changes it. */
export interface ReplicaTable {
  /** Changes up to this number are in it. */
  readonly seen: number;
  /** Brings in the changes that were committed, by their numbers. */
  refresh(): Promise<void>;
  /** Brings in all links; those with the keys given are no more. */
  reload(vanished: readonly string[]): Promise<void>;
  /** Leaves nothing of the limits that the scans of all machines have reached. */
  closeLimits(): Promise<void>;
}

export interface LinkReplicaOptions {
  /** With the only handle that writes to it. */
  readonly store: Management;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly log: Logger;
  /** Addresses of the cores' APIs, asked for at each connection. */
  readonly cores: () => readonly string[];
  /** Of this edge. */
  readonly token: () => string;
  /** Certificates of an authority of the cluster's own, PEM. */
  readonly tlsCa?: string | undefined;
  /** Makes the link table and fills it from the store: at `open`, or once the first snapshot is whole. */
  readonly openTable: () => Promise<ReplicaTable>;
}

export class LinkReplica {
  readonly #options: LinkReplicaOptions;
  readonly #store: ReplicaStore;
  readonly #agent: Agent;
  readonly #stopping = new AbortController();
  /** Fired when changes are in the link table, and before links of a snapshot are: when `number` has moved. */
  readonly applied = new Signal();
  #table: ReplicaTable | undefined;
  /** Links of a snapshot are coming in, or of one that was cut short: by which number they go is not known. */
  #isRefilling: boolean;
  /** The number of the core, by its last beat. */
  #coreNumber = 0;
  #contactMs: number | undefined;
  #rotation: number;
  #pauseMs = firstPauseMs;
  #fault: string | undefined;
  #running: Promise<void> = Promise.resolve();
  readonly #limits: BesideRun;

  constructor(options: LinkReplicaOptions, store = new ReplicaStore(options.store)) {
    this.#options = options;
    this.#store = store;
    this.#isRefilling = store.position === undefined;
    // The edges share the cores.
    this.#rotation = Math.floor(options.random() * 1_024);
    this.#limits = new BesideRun(async () => {
      await this.#table?.closeLimits();
    }, options.log);
    const connect = { timeout: connectMsMax, ...(options.tlsCa && { ca: options.tlsCa }) };
    // Silence is seen here.
    this.#agent = new Agent({ connect, headersTimeout: connectMsMax, bodyTimeout: 0 });
  }

  /** Changes up to this number are in the link table; 0 while that is not known. */
  get number(): number {
    return this.#isRefilling ? 0 : Math.max(0, this.#table?.seen ?? 0);
  }

  /** How many changes of the core are not in the link table, as far as its beats say. */
  get behind(): number {
    return Math.max(0, this.#coreNumber - this.number);
  }

  /** The link table is filled. */
  get hasLinks(): boolean {
    return this.#table !== undefined;
  }

  /** When a current core last sent a beat, by the monotonic clock. */
  get lastContactMs(): number | undefined {
    return this.#contactMs;
  }

  get isFresh(): boolean {
    const sinceMs = this.#options.clock.monotonicMs() - (this.#contactMs ?? -Infinity);
    return sinceMs <= silentMsMax;
  }

  /** Why the last connection ended; undefined while one brings links. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Fills the link table where there are links on the disk, and follows the feed from here on. */
  async open(): Promise<void> {
    if (this.#store.hasLinks) this.#table = await this.#options.openTable();
    this.#running = this.#follow();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#limits.end();
    await this.#agent.destroy();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const core = this.#nextCore();
      const beganMs = this.#options.clock.monotonicMs();
      try {
        if (core === undefined) throw new Error('no core is known');
        await this.#read(core);
      } catch (error) {
        if (signal.aborted) return;
        this.#tellFault(core, error);
      }
      // Also where links come and cannot be stored: a core is not asked for them many times a second.
      const lastedMs = this.#options.clock.monotonicMs() - beganMs;
      if (lastedMs >= pauseMsMax) this.#pauseMs = firstPauseMs;
      const waitMs = this.#pauseMs * (0.5 + this.#options.random());
      this.#pauseMs = Math.min(pauseMsMax, this.#pauseMs * 2);
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One after the other: each of them forwards to the core that leads. */
  #nextCore(): string | undefined {
    const cores = this.#options.cores();
    return cores[this.#rotation++ % cores.length];
  }

  #tellFault(core: string | undefined, error: unknown): void {
    const reason = messageOf(error);
    if (this.#fault === undefined) {
      this.#options.log.warn({ core, reason }, 'following links failed, retrying');
    }
    this.#fault = reason;
  }

  async #read(core: string): Promise<void> {
    const silence = new Silence(this.#options.clock, silentMsMax);
    try {
      const signal = AbortSignal.any([this.#stopping.signal, silence.signal]);
      const body = await this.#connect(core, signal);
      this.#store.begin();
      const decoder = new LinkFrameDecoder();
      let waiting: LinkFrame[] = [];
      silence.resume();
      for await (const piece of body) {
        silence.pause();
        const frames = decoder.read(piece);
        if (frames.some(({ kind }) => kind === 'reset')) this.#beginRefill(core);
        waiting.push(...frames.filter(({ kind }) => kind !== 'beat'));
        if (this.#isDue(waiting)) {
          await this.#apply(waiting);
          waiting = [];
        }
        if (this.#takeBeats(frames, core) || this.#isRefilling) silence.restart();
        silence.resume();
      }
      throw new Error('the core has ended the feed');
    } catch (error) {
      throw silence.signal.aborted ? new Error('no beat of a current core came') : error;
    } finally {
      silence.pause();
    }
  }

  async #connect(core: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    const { position } = this.#store;
    const parameters = new URLSearchParams({
      pages: String(this.#store.pagesNumber),
      ...(position && {
        cluster: position.cluster,
        after: String(position.number),
        codes: position.codes.join(' '),
      }),
    });
    const { statusCode, body } = await request(`${core}/cluster/links?${parameters.toString()}`, {
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#options.token()}` },
      signal,
    });
    if (statusCode === 200) return body;
    await body.dump();
    throw new Error(`the core answered ${statusCode}`);
  }

  /** @returns whether the core is current */
  #takeBeats(frames: readonly LinkFrame[], core: string): boolean {
    let isCurrent = false;
    for (const frame of frames) {
      if (frame.kind !== 'beat') continue;
      this.#coreNumber = frame.number;
      ({ isCurrent } = frame);
    }
    if (!isCurrent) return false;
    this.#contactMs = this.#options.clock.monotonicMs();
    if (this.#fault !== undefined) this.#options.log.info({ core }, 'following links resumed');
    this.#fault = undefined;
    return true;
  }

  #beginRefill(core: string): void {
    this.#isRefilling = true;
    this.applied.fire();
    this.#options.log.info({ core }, 'all links are coming from a core');
  }

  /** A snapshot waits for its end, or for more; anything else for nothing. */
  #isDue(frames: readonly LinkFrame[]): boolean {
    if (frames.length === 0) return false;
    if (!this.#isRefilling || frames.some(({ kind }) => kind === 'at')) return true;
    const bytes = frames.reduce(
      (sum, frame) => sum + (frame.kind === 'block' ? frame.bytes.length : frameBytes),
      0,
    );
    return bytes >= transactionBytes;
  }

  async #apply(frames: readonly LinkFrame[]): Promise<void> {
    const { isWhole, areMoreCounted } = await this.#store.apply(frames);
    if (isWhole) await this.#reload();
    else if (this.#isRefilling) return;
    else await this.#table?.refresh();
    if (areMoreCounted) this.#limits.run();
    this.applied.fire();
  }

  async #reload(): Promise<void> {
    const vanished = this.#store.takeVanished();
    if (this.#table === undefined) this.#table = await this.#options.openTable();
    else await this.#table.reload(vanished);
    this.#isRefilling = false;
  }
}

/** Looking at all limits takes 0.2 s where there are 100,000: changes do not wait for it. One at a time. */
class BesideRun {
  readonly #work: () => Promise<void>;
  readonly #log: Logger;
  #isAskedAgain = false;
  #running: Promise<void> | undefined;

  constructor(work: () => Promise<void>, log: Logger) {
    this.#work = work;
    this.#log = log;
  }

  run(): void {
    this.#isAskedAgain = true;
    this.#running ??= this.#runAll().finally(() => {
      this.#running = undefined;
    });
  }

  async end(): Promise<void> {
    await this.#running;
  }

  async #runAll(): Promise<void> {
    while (this.#isAskedAgain) {
      this.#isAskedAgain = false;
      try {
        await this.#work();
      } catch (err) {
        this.#log.error({ err }, 'closing limits of codes failed, the next totals try again');
      }
    }
  }
}

/** Ends a connection when nothing has restarted it for too long; the time of a pause does not count. */
class Silence {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #msMax: number;
  readonly #controller = new AbortController();
  #leftMs: number;
  #resumedMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>, msMax: number) {
    this.#clock = clock;
    this.#msMax = msMax;
    this.#leftMs = msMax;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  resume(): void {
    this.#resumedMs = this.#clock.monotonicMs();
    this.#timer = setTimeout(() => this.#controller.abort(), this.#leftMs);
  }

  pause(): void {
    clearTimeout(this.#timer);
    if (this.#resumedMs === undefined) return;
    this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.monotonicMs() - this.#resumedMs));
    this.#resumedMs = undefined;
  }

  restart(): void {
    this.#leftMs = this.#msMax;
  }
}
