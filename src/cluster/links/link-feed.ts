/**
 * The feed of links, on a core: one endless answer for each edge.
 *
 *   GET /cluster/links?cluster=<id>&after=<number>&codes=<of the last changes>&pages=<number>
 *                                                                    Authorization: Bearer <token of the edge>
 *
 *     the changes after that number are stored  change, change, …
 *     else, or without it                       reset, block, block, …, used …, at
 *     then, as they come                        change; used, pages and beat each half a second
 *
 * An edge that reads slowly costs no memory: the feed reads a piece from the store when the edge has taken the last one. An
 * edge that falls behind the stored changes gets all blocks in the same answer.
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
const headers = {
  'Content-Type': 'application/octet-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
};
const beatMs = 500;
/** Feeds at once, one for each edge. */
const feedsMax = 1_024;
/** Totals in a piece: 70 KB. */
const totalsMax = 4_096;

export interface LinkFeedOptions {
  readonly store: Management;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The cluster that gave the numbers of this store; another one after its data was restored from a copy. */
  readonly cluster: () => string;
  readonly isLeading: () => boolean;
  /** The core leads, or follows the leader closely. */
  readonly isCurrent: () => boolean;
  /** The name of the edge of this cluster with that token; undefined for any other. */
  readonly edgeOf: (token: string) => string | undefined;
  /** Of each limited code, the scans that are counted. */
  readonly limitedTotals: () => Totals;
  /** Where problems are explained. */
  readonly docsUrl: string;
}

/** What an edge has, and so need not get. */
interface FeedStart {
  readonly edge: string;
  /** Undefined if the edge has no links of this cluster. */
  readonly seen: ChangesSeen | undefined;
  /** The last change of pages. */
  readonly pages: number;
}

export class LinkFeed {
  readonly #options: LinkFeedOptions;
  readonly #source: LinkSource;
  readonly #totals: LimitedTotals;
  /** By edge. */
  readonly #open = new Map<string, Feed>();
  readonly #unlisten: () => void;
  #isClosed = false;

  constructor(options: LinkFeedOptions) {
    this.#options = options;
    this.#source = new LinkSource(options.store);
    this.#totals = new LimitedTotals(options.limitedTotals, options.clock, beatMs);
    // After the source, which has listened before.
    this.#unlisten = options.store.environment.committed.listen(() => {
      for (const feed of this.#open.values()) feed.wake();
    });
  }

  /** Undefined for a request to another path. */
  reply(request: Request): Reply | undefined {
    if (request.path !== feedPath) return undefined;
    const start = this.#startOf(request);
    if (start instanceof Failure) return problemReply(start, request, this.#options.docsUrl);
    return { status: 200, headers, body: { [Symbol.asyncIterator]: () => this.#begin(start) } };
  }

  close(): void {
    this.#isClosed = true;
    this.#unlisten();
    this.#source.close();
    for (const feed of this.#open.values()) feed.end();
  }

  #startOf(request: Request): FeedStart | Failure {
    if (request.method !== 'GET') {
      return new Failure('method_not_allowed', 'Links are followed with GET');
    }
    const [, token = ''] = /^Bearer (\S+)$/.exec(request.header('authorization') ?? '') ?? [];
    const edge = this.#options.edgeOf(token);
    if (edge === undefined) {
      return new Failure('unauthorized', 'The token is not one of an edge of this cluster');
    }
    const soon = { retryAfterSeconds: 1 };
    if (this.#isClosed || this.#open.size >= feedsMax) {
      return new Failure('overloaded', `This core has ${feedsMax} edges, or stops`, soon);
    }
    const parameters = new URLSearchParams(request.query);
    const after = countIn(parameters, 'after');
    const isOfCluster = parameters.get('cluster') === this.#options.cluster();
    const codes = (parameters.get('codes') ?? '').split(' ').map(Number);
    const seen = isOfCluster && after !== undefined ? { number: after, codes } : undefined;
    this.#source.refresh();
    // A standby may be behind the core that the edge followed. What a leader lacks, the cluster has lost.
    if (seen !== undefined && seen.number > this.#source.last && !this.#options.isLeading()) {
      return new Failure('not_active', 'This core does not lead, and is behind the edge', soon);
    }
    return { edge, seen, pages: countIn(parameters, 'pages') ?? 0 };
  }

  /** Called at the first pull: an answer that is never pulled does not end either. */
  #begin(start: FeedStart): AsyncIterator<Uint8Array> {
    const { edge } = start;
    // An edge asks again when it has lost its connection.
    this.#open.get(edge)?.end();
    const feed: Feed = new Feed(this.#options, this.#source, this.#totals, start, () => {
      if (this.#open.get(edge) === feed) this.#open.delete(edge);
    });
    this.#open.set(edge, feed);
    return feed.iterator();
  }
}

function countIn(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** One edge's answer. */
class Feed {
  readonly #options: Pick<LinkFeedOptions, 'cluster' | 'isCurrent' | 'clock'>;
  readonly #source: LinkSource;
  readonly #totals: LimitedTotals;
  readonly #onEnd: () => void;
  /** The edge has all changes up to it; undefined = it needs all links. */
  #position: number | undefined;
  /** The same of pages. */
  #pages: number;
  /** The same of totals. */
  #reading = 0;
  #beatAtMs = -Infinity;
  #isEnded = false;
  #onEvent: (() => void) | undefined;

  constructor(
    options: LinkFeedOptions,
    source: LinkSource,
    totals: LimitedTotals,
    { seen, pages }: FeedStart,
    onEnd: () => void,
  ) {
    this.#options = options;
    this.#source = source;
    this.#totals = totals;
    this.#onEnd = onEnd;
    this.#pages = pages;
    this.#position = seen && source.follows(seen) ? seen.number : undefined;
  }

  /** There may be something to send. */
  wake(): void {
    this.#onEvent?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#onEnd();
    this.wake();
  }

  /** `return` is called when the edge has left, also while a `next` waits. */
  iterator(): AsyncIterator<Uint8Array> {
    const pieces = this.#pieces();
    return {
      next: () => pieces.next(),
      return: async () => {
        this.end();
        return { done: true, value: undefined };
      },
    };
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
      this.end();
    }
  }

  async *#snapshot(): AsyncGenerator<Uint8Array> {
    const source = this.#source;
    source.refresh();
    const number = source.last;
    yield encodeFrame({ kind: 'reset', cluster: this.#options.cluster() });
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
    const slice = this.#source.changesAfter(after);
    this.#position = slice?.number;
    if (slice !== undefined && slice.piece.length > 0) yield slice.piece;
  }

  /** Once in `beatMs`; what is counted goes before it. */
  async *#beat(): AsyncGenerator<Uint8Array> {
    const { isCurrent, clock } = this.#options;
    if (clock.monotonicMs() - this.#beatAtMs < beatMs) return;
    this.#beatAtMs = clock.monotonicMs();
    if (this.#position !== undefined) yield* this.#used();
    this.#source.refresh();
    yield* this.#changedPages();
    yield encodeFrame({ kind: 'beat', number: this.#source.last, isCurrent: isCurrent() });
  }

  async *#changedPages(): AsyncGenerator<Uint8Array> {
    let slice = this.#source.pagesAfter(this.#pages);
    for (; slice !== undefined; slice = this.#source.pagesAfter(this.#pages)) {
      this.#pages = slice.number;
      if (slice.piece.length > 0) yield slice.piece;
    }
  }

  async *#used(): AsyncGenerator<Uint8Array> {
    const { reading, totals } = this.#totals.since(this.#reading);
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
    const isBehind = this.#position === undefined || this.#position < this.#source.last;
    if (isBehind || this.#isEnded) return await yieldToEventLoop();
    const waitMs = this.#beatAtMs + beatMs - this.#options.clock.monotonicMs();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.max(1, Math.ceil(waitMs)));
    this.#onEvent = resolve;
    await promise;
    this.#onEvent = undefined;
    clearTimeout(timer);
  }
}
