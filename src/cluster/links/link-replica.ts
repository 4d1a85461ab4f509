/**
 * Follows the feed of links of a cluster, on an edge: frames into the store, then into the link table.
 *
 *   connect ──▶ frames ──▶ store, in one transaction with their number ──▶ link table ──▶ `applied`
 *      ▲                                                                        │
 *      └── next core, after a pause ◀── 2 s without a beat of a current core ◀──┘
 *
 * While nothing comes the edge redirects by what it has. It reads the next piece when it has applied the last one, so a
 * snapshot of any size takes a few megabytes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Clock } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import { Signal } from '../../model/signal.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type LinkFrame, LinkFrameDecoder } from './link-frames.ts';
import type { ReplicaStore } from './replica-store.ts';

/** Without a beat of a core that follows the log for so long, links may be old: the edge asks another core. */
const silentMsMax = 2_000;
const connectMsMax = 2_000;
const firstPauseMs = 50;
const pauseMsMax = 2_000;
/** Bytes of a snapshot in one transaction: about 2,700 blocks, 20 ms. */
const transactionBytes = 4_194_304;

/** The link table of this process, as the feed changes it. */
export interface ReplicaTable {
  /** Changes up to this number are in it. */
  readonly seen: number;
  /** Fills it from the store. @returns false if the store has lost links */
  fill(): boolean;
  /** Brings in the changes that were committed, by their numbers. */
  refresh(): Promise<void>;
  /** Brings in all links and removes those with the given keys. */
  reload(vanished: readonly string[]): Promise<void>;
}

export interface LinkReplicaOptions {
  readonly store: ReplicaStore;
  readonly table: ReplicaTable;
  /** Called once the table is filled: at `open`, or when the first snapshot is whole. */
  readonly onFilled: () => Promise<void>;
  /** More scans of limited codes are counted. */
  readonly onCounted: () => void;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly log: Logger;
  /** Addresses of the cores' APIs, asked for at each connection. */
  readonly cores: () => readonly string[];
  /** Of this edge. */
  readonly token: () => string;
}

export class LinkReplica {
  readonly #options: LinkReplicaOptions;
  // It needs no timeout for a body: `#read` watches for silence.
  readonly #agent = new Agent({
    connect: { timeout: connectMsMax },
    headersTimeout: connectMsMax,
    bodyTimeout: 0,
  });
  readonly #stopping = new AbortController();
  /** Fired when changes are in the link table, and before links of a snapshot are: when `number` has moved. */
  readonly applied = new Signal();
  /** The link table is filled. */
  hasLinks = false;
  /** Links of a snapshot are coming in, or of one that was cut short: their number is unknown. */
  #isRefilling: boolean;
  /** The number of the core, by its last beat. */
  #coreNumber = 0;
  /** When a current core last sent a beat, by the monotonic clock. */
  lastContactMs: number | undefined;
  #rotation: number;
  #pauseMs = firstPauseMs;
  /** Why the last connection ended; undefined while one brings links. */
  fault: string | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LinkReplicaOptions) {
    this.#options = options;
    this.#isRefilling = options.store.position === undefined;
    // The edges share the cores.
    this.#rotation = Math.floor(options.random() * 1_024);
  }

  /** Changes up to this number are in the link table; 0 while that is unknown. */
  get number(): number {
    return this.#isRefilling || !this.hasLinks ? 0 : Math.max(0, this.#options.table.seen);
  }

  /** How many changes of the core are not in the link table, by its last beat. */
  get behind(): number {
    return Math.max(0, this.#coreNumber - this.number);
  }

  get isFresh(): boolean {
    const sinceMs = this.#options.clock.monotonicMs() - (this.lastContactMs ?? -Infinity);
    return sinceMs <= silentMsMax;
  }

  /** Fills the link table if there are links on the disk, and follows the feed from here on. */
  async open(): Promise<void> {
    if (this.#options.store.hasLinks) await this.#fill();
    this.#running = this.#follow();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#agent.destroy();
  }

  async #fill(): Promise<void> {
    const { store, table, onFilled } = this.#options;
    if (!table.fill()) {
      await store.requestFullSync();
      this.#isRefilling = true;
    }
    this.hasLinks = true;
    await onFilled();
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
        this.#reportFault(core, error);
      }
      // Longer after each short connection: on a full disk, links come and cannot be stored.
      const lastedMs = this.#options.clock.monotonicMs() - beganMs;
      if (lastedMs >= pauseMsMax) this.#pauseMs = firstPauseMs;
      const waitMs = this.#pauseMs * (0.5 + this.#options.random());
      this.#pauseMs = Math.min(pauseMsMax, this.#pauseMs * 2);
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #nextCore(): string | undefined {
    const cores = this.#options.cores();
    return cores[this.#rotation++ % cores.length];
  }

  #reportFault(core: string | undefined, error: unknown): void {
    const reason = messageOf(error);
    if (this.fault === undefined) {
      this.#options.log.warn({ core, reason }, 'following links failed, retrying');
    }
    this.fault = reason;
  }

  async #read(core: string): Promise<void> {
    const { clock, store } = this.#options;
    const idle = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    try {
      const body = await this.#connect(core, AbortSignal.any([this.#stopping.signal, idle.signal]));
      store.begin();
      const decoder = new LinkFrameDecoder();
      let waiting: LinkFrame[] = [];
      let idleAtMs = clock.monotonicMs() + silentMsMax;
      // The time in which frames are applied does not count.
      const waitForPiece = (): void => {
        timer = setTimeout(() => idle.abort(), Math.max(0, idleAtMs - clock.monotonicMs()));
      };
      waitForPiece();
      for await (const piece of body) {
        clearTimeout(timer);
        const frames = decoder.read(piece);
        if (frames.some(({ kind }) => kind === 'reset')) this.#beginRefill(core);
        waiting.push(...frames.filter(({ kind }) => kind !== 'beat'));
        if (this.#isDue(waiting)) {
          await this.#apply(waiting);
          waiting = [];
        }
        const isCurrent = this.#takeBeats(frames, core);
        if (isCurrent || frames.some(isOfLink)) idleAtMs = clock.monotonicMs() + silentMsMax;
        waitForPiece();
      }
      throw new Error('the core has ended the feed');
    } catch (error) {
      throw idle.signal.aborted ? new Error('no beat of a current core came') : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #connect(core: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    const { position, pagesNumber } = this.#options.store;
    const parameters = new URLSearchParams({
      pages: String(pagesNumber),
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
    this.lastContactMs = this.#options.clock.monotonicMs();
    if (this.fault !== undefined) this.#options.log.info({ core }, 'following links resumed');
    this.fault = undefined;
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
    const blocks = frames.map((frame) => (frame.kind === 'block' ? frame.bytes.length : 0));
    return blocks.reduce((sum, bytes) => sum + bytes, 0) >= transactionBytes;
  }

  async #apply(frames: readonly LinkFrame[]): Promise<void> {
    const { store, table, onCounted } = this.#options;
    const { isWhole, areMoreCounted } = await store.apply(frames);
    if (isWhole) await this.#reload();
    else if (this.#isRefilling) return;
    else await table.refresh();
    if (areMoreCounted) onCounted();
    this.applied.fire();
  }

  async #reload(): Promise<void> {
    const { store, table } = this.#options;
    const vanished = store.takeVanished();
    if (this.hasLinks) await table.reload(vanished);
    else await this.#fill();
    this.#isRefilling = false;
  }
}

/** Not of counted scans alone, which a core without the log sends too. */
const isOfLink = ({ kind }: LinkFrame): boolean => kind !== 'beat' && kind !== 'used';
