/**
 * The feed of links, on a core: one endless answer for each edge.
 *
 *   GET /cluster/links?cluster=<id>&after=<number>&codes=<of the last changes>&pages=<number>
 *                                                                    Authorization: Bearer <token of the edge>
 *
 *     the changes after that number are kept    change, change, …
 *     else, or without it                       reset, block, block, …, used …, at
 *     then, as they come                        change; used, pages and beat each half a second
 *
 * An edge that reads slowly costs no memory: a piece is read from the store when the one before it is taken, and an edge
 * that falls behind what is kept gets all blocks in the same answer.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { problemReply } from '../../api/problem.ts';
import type { Reply, Request } from '../../http/request.ts';
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { Management } from '../../store/management/management.ts';
import { LimitedTotals, type Totals } from './limited-totals.ts';
import { encodeFrame } from './link-frames.ts';
import { type ChangesSeen, LinkSource } from './link-source.ts';

const feedPath = '/cluster/links';
const beatMs = 500;
/** Feeds at once: one for each edge, and those that a lost connection has left for a minute. */
const feedsMax = 1_024;
/**
 * Of one edge: what it follows, and the one before it. The newest wins: an edge whose connection was lost asks again, and
 * may not be kept out by what it has left.
 */
const edgeFeedsMax = 2;
/** Totals in a piece: 70 KB. */
const totalsMax = 4_096;

export interface LinkFeedOptions {
  readonly store: Management;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Which cluster the numbers of this store are of; another one after its data was put back from a copy. */
  readonly cluster: () => string;
  readonly isLeading: () => boolean;
  /** The core leads, or follows the leader closely. */
  readonly isCurrent: () => boolean;
  /** The name of the edge of this cluster whose token stands after `Bearer`; undefined for any other. */
  readonly edgeOf: (token: string) => string | undefined;
  /** Of each limited code, the scans that are counted. */
  readonly limitedTotals: () => Totals;
  /** Where problems are explained. */
  readonly docsUrl: string;
}

export class LinkFeed {
  readonly #options: LinkFeedOptions;
  readonly #source: LinkSource;
  readonly #totals: LimitedTotals;
  readonly #open = new Set<Feed>();
  readonly #unlisten: () => void;
  #isClosed = false;

  constructor(options: LinkFeedOptions) {
    this.#options = options;
    this.#source = new LinkSource(options.store);
    this.#totals = new LimitedTotals(options.limitedTotals, options.clock, beatMs);
    // After the source, which has listened before.
    this.#unlisten = options.store.environment.committed.listen(() => {
      for (const feed of this.#open) feed.committed();
    });
  }

  /** Edges that follow. */
  get count(): number {
    return this.#open.size;
  }

  /** Undefined for a request to another path. */
  reply(request: Request): Reply | undefined {
    if (request.path !== feedPath) return undefined;
    const seen = this.#positionIn(request.query);
    const edge = this.#edgeOf(request);
    const refusal = this.#refusal(request, edge, seen);
    if (edge === undefined || refusal !== undefined) {
      return problemReply(refusal ?? unauthorized(), request, this.#options.docsUrl);
    }
    const headers = {
      'Content-Type': 'application/octet-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    };
    return { status: 200, headers, body: this.#feed(edge, seen, pagesIn(request.query)) };
  }

  #edgeOf(request: Request): string | undefined {
    const [, token] = /^Bearer (\S+)$/.exec(request.header('authorization') ?? '') ?? [];
    return token === undefined ? undefined : this.#options.edgeOf(token);
  }

  #refusal(
    request: Request,
    edge: string | undefined,
    seen: ChangesSeen | undefined,
  ): Failure | undefined {
    if (request.method !== 'GET')
      return new Failure('method_not_allowed', 'Links are followed with GET');
    if (edge === undefined) return unauthorized();
    const soon = { retryAfterSeconds: 1 };
    if (this.#isClosed || this.#open.size >= feedsMax) {
      return new Failure('overloaded', `This core has ${feedsMax} edges, or stops`, soon);
    }
    this.#source.refresh();
    // A standby may be behind the core that the edge followed. What a leader lacks, the cluster has lost.
    if (seen !== undefined && seen.number > this.#source.last && !this.#options.isLeading()) {
      return new Failure('not_active', 'This core does not lead, and is behind the edge', soon);
    }
    return undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#unlisten();
    this.#source.close();
    for (const feed of this.#open) feed.end();
  }

  /** Of those that an edge has left without a word, the oldest. */
  #endOlder(edge: string): void {
    const older = [...this.#open].filter((feed) => feed.edge === edge);
    for (const feed of older.slice(0, Math.max(0, older.length + 1 - edgeFeedsMax))) {
      feed.end();
      // One that is not read does not come to its end by itself.
      this.#open.delete(feed);
    }
  }

  /** Undefined where the edge has nothing of this cluster. */
  #positionIn(query: string): ChangesSeen | undefined {
    const parameters = new URLSearchParams(query);
    const after = parameters.get('after') ?? '';
    if (parameters.get('cluster') !== this.#options.cluster()) return undefined;
    if (!/^\d{1,15}$/.test(after)) return undefined;
    const codes = (parameters.get('codes') ?? '').split(' ').map(Number);
    return { number: Number(after), codes };
  }

  #feed(edge: string, seen: ChangesSeen | undefined, pages: number): AsyncIterable<Uint8Array> {
    // Counted from its first pull: an answer that is never pulled is not ended either.
    const begin = (): AsyncIterator<Uint8Array> => {
      const { cluster, isCurrent, clock } = this.#options;
      const [source, totals] = [this.#source, this.#totals];
      const onEnd = (): void => void this.#open.delete(feed);
      this.#endOlder(edge);
      const parts = { edge, source, totals, cluster, isCurrent, clock, onEnd };
      const feed = new Feed(parts, seen, pages);
      this.#open.add(feed);
      return feed.iterator();
    };
    return { [Symbol.asyncIterator]: begin };
  }
}

/** The last change of pages that the edge has. */
function pagesIn(query: string): number {
  const pages = new URLSearchParams(query).get('pages') ?? '';
  return /^\d{1,15}$/.test(pages) ? Number(pages) : 0;
}

const unauthorized = (): Failure =>
  new Failure('unauthorized', 'The token is not one of an edge of this cluster');

interface FeedParts extends Pick<LinkFeedOptions, 'cluster' | 'isCurrent' | 'clock'> {
  readonly edge: string;
  readonly source: LinkSource;
  readonly totals: LimitedTotals;
  readonly onEnd: () => void;
}

/** One edge's answer. */
class Feed {
  readonly #parts: FeedParts;
  /** The edge has all changes up to it; undefined = nothing that counts. */
  #position: number | undefined;
  /** The same of pages. */
  #pages: number;
  /** Of the totals. */
  #reading = 0;
  #beatAtMs = -Infinity;
  #isEnded = false;
  #onEvent: (() => void) | undefined;

  constructor(parts: FeedParts, seen: ChangesSeen | undefined, pages: number) {
    this.#parts = parts;
    this.#pages = pages;
    this.#position = seen && parts.source.follows(seen) ? seen.number : undefined;
  }

  get edge(): string {
    return this.#parts.edge;
  }

  committed(): void {
    this.#onEvent?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#onEvent?.();
  }

  /** `return` is called when the edge has left, also while a `next` waits. */
  iterator(): AsyncIterator<Uint8Array> {
    const pieces = this.#pieces();
    return {
      next: () => pieces.next(),
      return: async () => {
        this.#release();
        return { done: true, value: undefined };
      },
    };
  }

  #release(): void {
    this.end();
    this.#parts.onEnd();
  }

  async *#pieces(): AsyncGenerator<Uint8Array, undefined> {
    try {
      while (!this.#isEnded) {
        if (this.#position === undefined) yield* this.#snapshot();
        else yield* this.#changes(this.#position);
        yield* this.#beat();
        await this.#next();
      }
    } finally {
      this.#release();
    }
  }

  async *#snapshot(): AsyncGenerator<Uint8Array> {
    const { source, cluster } = this.#parts;
    source.refresh();
    const number = source.last;
    yield encodeFrame({ kind: 'reset', cluster: cluster() });
    this.#pages = 0;
    for (let next: number | undefined = 0; next !== undefined && !this.#isEnded;) {
      const slice = source.snapshot(next);
      ({ next } = slice);
      yield slice.piece;
      yield* this.#beat();
      await yieldToEventLoop();
    }
    if (this.#isEnded) return;
    this.#reading = 0;
    yield* this.#used();
    this.#position = number;
    yield encodeFrame({ kind: 'at', number });
  }

  async *#changes(after: number): AsyncGenerator<Uint8Array> {
    const slice = this.#parts.source.changesAfter(after);
    this.#position = slice?.number;
    if (slice !== undefined && slice.piece.length > 0) yield slice.piece;
  }

  /** Once in `beatMs`; what is counted goes before it. */
  async *#beat(): AsyncGenerator<Uint8Array> {
    const { source, isCurrent, clock } = this.#parts;
    if (clock.monotonicMs() - this.#beatAtMs < beatMs) return;
    this.#beatAtMs = clock.monotonicMs();
    if (this.#position !== undefined) yield* this.#used();
    source.refresh();
    yield* this.#changedPages();
    yield encodeFrame({ kind: 'beat', number: source.last, isCurrent: isCurrent() });
  }

  async *#changedPages(): AsyncGenerator<Uint8Array> {
    const { source } = this.#parts;
    let slice = source.pagesAfter(this.#pages);
    for (; slice !== undefined; slice = source.pagesAfter(this.#pages)) {
      this.#pages = slice.number;
      if (slice.piece.length > 0) yield slice.piece;
    }
  }

  async *#used(): AsyncGenerator<Uint8Array> {
    const { reading, totals } = this.#parts.totals.since(this.#reading);
    let frames: Buffer[] = [];
    for (const [codeNo, scans] of totals) {
      frames.push(encodeFrame({ kind: 'used', codeNo, scans }));
      if (frames.length < totalsMax) continue;
      yield Buffer.concat(frames);
      frames = [];
    }
    this.#reading = reading;
    if (frames.length > 0) yield Buffer.concat(frames);
  }

  /** Resolves when there may be something to send: at once while changes are left, at a commit, or for the next beat. */
  async #next(): Promise<void> {
    const isBehind = this.#position === undefined || this.#position < this.#parts.source.last;
    if (isBehind || this.#isEnded) return await yieldToEventLoop();
    const waitMs = this.#beatAtMs + beatMs - this.#parts.clock.monotonicMs();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.max(1, Math.ceil(waitMs)));
    this.#onEvent = resolve;
    await promise;
    this.#onEvent = undefined;
    clearTimeout(timer);
  }
}
