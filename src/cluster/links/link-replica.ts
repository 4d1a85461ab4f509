/**
 * Follows the links of a cluster, on an edge: asks a core for what it lacks, stores it, then brings it into the link table.
 *
 *   ask ──▶ piece ──▶ store, in one transaction ──▶ link table ──▶ `applied` ──▶ ask the same core again
 *
 *   a core that does not answer within 2 s, or does not follow the cluster's log ──▶ ask the next one, after a pause
 *
 * While nothing comes the edge redirects by what it has.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Clock } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { Signal } from '../../model/signal.ts';
import { linkBlockBytesMax } from '../../engine/links/link-blocks.ts';
import type { Logger } from '../../platform/log.ts';
import {
  blocksEnd,
  decodePiece,
  type LinkPiece,
  LinkPieceError,
  type LinkPosition,
} from './link-piece.ts';
import type { ReplicaStore } from './replica-store.ts';

/** Without an answer of a core that follows the log for so long, links may be old: the edge asks another core. */
const silentMsMax = 2_000;
const firstPauseMs = 50;
const pauseMsMax = 2_000;
/** A piece has 1 MB of blocks, one more block, texts and totals. */
const answerBytesMax = 4 * linkBlockBytesMax;

/** The link table of this process, as the links of the store change it. */
export interface ReplicaTable {
  /** Fills it from the store. @returns false if the store has lost links */
  fill(): boolean;
  publishMany(codeNos: readonly CodeNo[]): void;
  publishAll(): Promise<void>;
  delete(key: string): void;
}

export interface LinkReplicaOptions {
  readonly store: ReplicaStore;
  readonly table: ReplicaTable;
  /** Called once the table is filled: at `open`, or when all links have come. */
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
  readonly #agent = new Agent({
    connect: { timeout: silentMsMax },
    headersTimeout: silentMsMax,
    bodyTimeout: silentMsMax,
    maxResponseSize: answerBytesMax,
  });
  readonly #stopping = new AbortController();
  /** Fired when `number` has moved: changes are in the link table, or all links are coming. */
  readonly applied = new Signal();
  /** The link table is filled. */
  hasLinks = false;
  /** Changes up to this number are in the link table; 0 while that is unknown. */
  number = 0;
  /** All links are coming: those below the block `next` have. */
  #refill: (LinkPosition & { readonly next: number }) | undefined;
  /** The core's last change of pages that has come to this process. */
  #pages = 0;
  /** A change is in the store, and the link table failed to take it: the next one brings all links into the table. */
  #isTableBehind = false;
  /** From which on the totals of limited codes are needed. */
  #totals = 0;
  /** The core's last change, as it has answered. */
  #coreNumber = 0;
  /** When a current core last answered, by the monotonic clock. */
  #lastContactMs: number | undefined;
  #rotation: number;
  /** Why the last question got no answer; undefined while links come. */
  fault: string | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LinkReplicaOptions) {
    this.#options = options;
    // The edges share the cores.
    this.#rotation = Math.floor(options.random() * 1_024);
  }

  /** How many changes of the core are not in the link table, as it last answered. */
  get behind(): number {
    return Math.max(0, this.#coreNumber - this.number);
  }

  /** Since a current core last answered; null = never. */
  get contactSeconds(): number | null {
    if (this.#lastContactMs === undefined) return null;
    return (this.#options.clock.monotonicMs() - this.#lastContactMs) / 1_000;
  }

  get isFresh(): boolean {
    return (this.contactSeconds ?? Infinity) * 1_000 <= silentMsMax;
  }

  /** Fills the link table if there are links on the disk, and asks for links from here on. */
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
    if (!table.fill()) await store.requestFullSync();
    this.number = store.position?.number ?? 0;
    this.hasLinks = true;
    await onFilled();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    const { cores, random } = this.#options;
    for (let pauseMs = firstPauseMs; !signal.aborted; this.#rotation += 1) {
      const urls = cores();
      const core = urls[this.#rotation % urls.length];
      try {
        if (core === undefined) throw new Error('no core is known');
        for (;;) {
          await this.#ask(core);
          pauseMs = firstPauseMs;
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#reportFault(core, error);
      }
      // Another core lists other totals.
      this.#totals = 0;
      await pause(pauseMs * (0.5 + random()), undefined, { signal }).catch(() => undefined);
      pauseMs = Math.min(pauseMsMax, pauseMs * 2);
    }
  }

  #reportFault(core: string | undefined, error: unknown): void {
    const reason = messageOf(error);
    if (this.fault === undefined) {
      this.#options.log.warn({ core, reason }, 'following links failed, retrying');
    }
    this.fault = reason;
  }

  async #ask(core: string): Promise<void> {
    const { clock, log } = this.#options;
    const piece = await this.#request(core);
    if (piece.part?.[0] === 0) {
      this.number = 0;
      this.applied.fire();
      log.info({ core }, 'all links are coming from a core');
    }
    await this.#apply(piece);
    this.#coreNumber = piece.last;
    if (piece.isCurrent) {
      this.#lastContactMs = clock.monotonicMs();
      if (this.fault !== undefined) log.info({ core }, 'following links resumed');
      this.fault = undefined;
    } else if (!isOfLink(piece) && !this.isFresh) {
      throw new Error("the core does not follow the cluster's log");
    }
  }

  async #request(core: string): Promise<LinkPiece> {
    const { store, token } = this.#options;
    const position = this.#refill ?? store.position;
    const parameters = new URLSearchParams({
      pages: String(this.#pages),
      totals: String(this.#totals),
      ...(position && {
        cluster: position.cluster,
        number: String(position.number),
        codes: position.codes.join(' '),
      }),
      ...(this.#refill && { next: String(this.#refill.next) }),
    });
    const { statusCode, body } = await request(`${core}/cluster/links?${parameters.toString()}`, {
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${token()}` },
      signal: this.#stopping.signal,
    });
    if (statusCode === 200) return decodePiece(await body.bytes());
    await body.dump();
    throw new Error(`the core answered ${statusCode}`);
  }

  async #apply(piece: LinkPiece): Promise<void> {
    const { store, table, onCounted } = this.#options;
    const { part, cluster, number, codes } = piece;
    const [from = 0, next = blocksEnd] = part ?? [];
    if (from !== 0 && from !== this.#refill?.next) {
      throw new LinkPieceError(`Cannot read links: the part from block ${from} was not asked for`);
    }
    const before = this.number;
    await store.apply(piece);
    this.#pages = piece.pagesNumber;
    this.#totals = piece.totalsNext;
    if (piece.totals.length > 0) onCounted();
    const refill = { cluster, number, codes: codes.toReversed(), next };
    this.#refill = next === blocksEnd ? undefined : refill;
    if (this.#refill !== undefined) return;
    const isAll = part !== undefined || this.#isTableBehind;
    this.#isTableBehind = true;
    if (!isAll) table.publishMany(codes);
    else if (this.hasLinks) await this.#reload();
    else await this.#fill();
    this.#isTableBehind = false;
    this.number = number;
    if (number !== before) this.applied.fire();
  }

  async #reload(): Promise<void> {
    const { store, table } = this.#options;
    await table.publishAll();
    for (const key of store.takeVanished()) table.delete(key);
  }
}

/** Not of counted scans alone, which a core without the log sends too. */
const isOfLink = ({ part, codes, pages }: LinkPiece): boolean =>
  part !== undefined || codes.length + pages.length > 0;
