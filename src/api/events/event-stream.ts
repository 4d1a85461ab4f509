/**
 * GET /events/stream: what happens in the workspace, as it happens, as server-sent events (WHATWG HTML,
 * 9.2), for dashboards and scripts.
 *
 *   commit of a window or a change --signal--> stream awakes --> piece --> client --Last-Event-ID--> …
 *
 * Who may not listen any more stops hearing: when keys or roles change all streams end and come again, and a
 * session's own end with it, before the next word. (Signed out by another process: at the next news or heartbeat.)
 * Bounds: streams per workspace, per client and in all; a piece at a time per stream, which is taken
 * before the next is made (event-feed.ts), so a slow client costs no memory, it only hears later; one that
 * takes nothing for a minute is cut off (http/stream.ts) and may go on from its last id. A stream that is
 * quiet sends a comment now and then, so that both ends and all proxies between know that it lives.
 */
import { z } from 'zod';
import { type EventKind, eventKinds } from '../../model/event.ts';
import { Failure } from '../../model/failure.ts';
import { parseId } from '../../model/ids.ts';
import type { Signal } from '../../model/signal.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { EventFeed, type FeedFilter, parsePlace } from './event-feed.ts';
import { createRoute, type Route } from '../route.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';

/** A comment after so much silence. */
const heartbeatMs = 15_000;
/** What a client waits before it comes again. */
const retryMs = 2_000;
const streamsMax = 512;
const workspaceStreamsMax = 64;
/** A browser's tabs, and those of the office behind the same address. */
const clientStreamsMax = 16;
const retryAfterSeconds = 15;
/** After it a client comes again, and is asked for its key again: it goes on from its last id. */
const lifeMsMax = 900_000;

const kindList = z
  .string()
  .max(512)
  .transform((text, context) => {
    const kinds = new Set<EventKind>();
    for (const word of text.split(',')) {
      const kind = eventKinds.find((known) => known === word.trim());
      if (kind === undefined) {
        context.addIssue({ code: 'custom', message: `Expected kinds of ${eventKinds.join(', ')}` });
        return z.NEVER;
      }
      kinds.add(kind);
    }
    return kinds;
  })
  .meta({ override: { type: 'string' }, example: 'qr.scanned,qr.created' });

const placeText = z.string().transform((text, context) => {
  const place = parsePlace(text);
  if (place !== undefined) return place;
  context.addIssue({ code: 'custom', message: 'Expected an id of this stream' });
  return z.NEVER;
});

const query = z.object({
  event: kindList.optional().meta({ description: 'Only these kinds, separated by commas' }),
  code: z
    .string()
    .refine((text) => parseId('qr', text) !== undefined, 'Expected a qr_ id')
    .optional()
    .meta({ description: 'Only what is about this code' }),
  lastEventId: placeText.optional().meta({
    override: { type: 'string' },
    description: 'In place of the Last-Event-ID header: goes on right after this id',
  }),
  once: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Ends when there is nothing more right now: for polling' }),
});

const what =
  'Events as `data:` lines, each the envelope that webhooks carry; `id:` is what to go on from. ' +
  '`event: gap` says that some before it are no longer kept.';

export interface EventStreamOptions {
  readonly outbox: Outbox;
  readonly scans: ScanQueries['events'];
  /** Fired after commits of changes and of windows. */
  readonly committed: readonly Signal[];
  /** Differs when keys, roles or memberships have changed. */
  readonly accessVersion: () => number;
  /** Whether the session has not ended. */
  readonly isSignedIn: (sessionHash: string) => boolean;
  /** Fired once, when the service stops. */
  readonly stopping: Signal;
}

export function eventStreamRoutes(options: EventStreamOptions): Route[] {
  const streams = new EventStreams(options);
  const follow = createRoute({
    method: 'GET',
    path: '/events/stream',
    operationId: 'streamEvents',
    tag: 'Events',
    summary: 'Follow events live',
    description:
      'Server-sent events, from now on or from the last id. Costs one request, however long it lasts.',
    query,
    answer: { status: 200, schema: z.string(), what, mediaTypes: ['text/event-stream'] },
    failures: [],
    handle: ({ actor, session, clientAddress, query: asked, header }) => {
      const from = asked.lastEventId ?? placeOfHeader(header('last-event-id'));
      const filter = { workspaceNo: actor.workspaceNo, kinds: asked.event, codeId: asked.code };
      const end = asked.once === 'true' ? 'when-quiet' : 'never';
      const listener = { client: clientAddress, sessionHash: session?.hash };
      const body = streams.open(filter, listener, from, end);
      const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };
      return { status: 200, headers, body };
    },
  });
  return [follow];
}

function placeOfHeader(text: string | undefined) {
  if (text === undefined || text === '') return undefined;
  const place = parsePlace(text);
  if (place !== undefined) return place;
  const message = 'Expected Last-Event-ID to be an id of this stream';
  const faults = [{ path: 'lastEventId', code: 'invalid', message }];
  throw new Failure('validation_failed', message, { faults });
}

type End = 'never' | 'when-quiet';

interface Listener {
  readonly client: string;
  /** Undefined for an API key. */
  readonly sessionHash: string | undefined;
}

/** All streams of this process. */
class EventStreams {
  readonly #options: EventStreamOptions;
  readonly #open = new Set<EventStream>();
  /** What the open streams were let in under. */
  #access: number;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#access = options.accessVersion();
    for (const signal of options.committed) {
      signal.listen(() => this.#wake());
    }
    options.stopping.listen(() => {
      for (const stream of this.#open) stream.end('the service stops');
    });
  }

  /**
   * News; but a key that was revoked meanwhile must not hear them, so after a change all come again, and who has
   * signed out is asked about one by one: an ended session is no reason for others to come again.
   */
  #wake(): void {
    const access = this.#options.accessVersion();
    if (access === this.#access) {
      for (const stream of this.#open) stream.wake();
      return;
    }
    this.#access = access;
    for (const stream of this.#open) stream.end('access has changed, come again');
  }

  /** @throws Failure overloaded */
  open(
    filter: FeedFilter,
    { client, sessionHash }: Listener,
    from: ReturnType<typeof parsePlace>,
    end: End,
  ): AsyncIterable<Uint8Array> {
    this.#admit(filter.workspaceNo, client);
    const { isSignedIn } = this.#options;
    const isWelcome = () => sessionHash === undefined || isSignedIn(sessionHash);
    const feed = new EventFeed(this.#options, filter, from);
    const options = { feed, end, workspaceNo: filter.workspaceNo, client, isWelcome };
    // Counted from its first pull: an answer to HEAD is never pulled, nor ended.
    const begin = (): EventStream => {
      const stream = new EventStream(options, () => this.#open.delete(stream));
      this.#open.add(stream);
      return stream;
    };
    return { [Symbol.asyncIterator]: begin };
  }

  #admit(workspaceNo: number, client: string): void {
    const open = [...this.#open];
    const isFull =
      open.length >= streamsMax ||
      open.filter((stream) => stream.workspaceNo === workspaceNo).length >= workspaceStreamsMax ||
      open.filter((stream) => stream.client === client).length >= clientStreamsMax;
    if (!isFull) return;
    const detail = `Too many live streams are open, expected at most ${clientStreamsMax} a client and ${workspaceStreamsMax} a workspace`;
    throw new Failure('overloaded', detail, { retryAfterSeconds });
  }
}

interface StreamOptions {
  readonly feed: EventFeed;
  readonly end: End;
  readonly workspaceNo: number;
  readonly client: string;
  /** Whether whoever listens still may. */
  readonly isWelcome: () => boolean;
}

type Woken = 'news' | 'silence';

class EventStream implements AsyncIterator<Uint8Array> {
  readonly #options: StreamOptions;
  readonly #onEnd: () => void;
  readonly #life: NodeJS.Timeout;
  #state: 'fresh' | 'open' | 'ending' | 'ended' = 'fresh';
  #lastWords = '';
  #hasNews = true;
  #waking: ((woken: Woken) => void) | undefined;

  constructor(options: StreamOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    this.#life = setTimeout(() => this.end('come again'), lifeMsMax);
  }

  get workspaceNo(): number {
    return this.#options.workspaceNo;
  }
  get client(): string {
    return this.#options.client;
  }

  wake(): void {
    if (!this.#options.isWelcome()) return this.end('signed out');
    this.#hasNews = true;
    this.#waking?.('news');
  }

  /** Ends with a comment that says why. */
  end(why: string): void {
    if (this.#state === 'ended') return;
    this.#state = 'ending';
    this.#lastWords = `: ${why}\n\n`;
    this.#waking?.('news');
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    let text: string | undefined;
    try {
      text = await this.#text();
    } catch (error) {
      await this.return();
      throw error;
    }
    if (text === undefined) return await this.return();
    return { done: false, value: Buffer.from(text) };
  }

  /** The client has gone, or all was said. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#state = 'ended';
    clearTimeout(this.#life);
    this.#onEnd();
    this.#waking?.('news');
    return { done: true, value: undefined };
  }

  /** The next piece; undefined at the end. */
  async #text(): Promise<string | undefined> {
    const { feed, end, isWelcome } = this.#options;
    if (this.#state === 'fresh') {
      this.#state = 'open';
      const gap = feed.hasGap ? 'event: gap\ndata: {"reason":"not_kept"}\n\n' : '';
      return `retry: ${retryMs}\n${feed.mark}\n${gap}`;
    }
    for (;;) {
      if (this.#state === 'ended') return undefined;
      if (this.#state === 'ending') {
        const words = this.#lastWords;
        this.#lastWords = '';
        return words === '' ? undefined : words;
      }
      if (this.#hasNews) {
        this.#hasNews = false;
        const { text, hasMore } = feed.next();
        this.#hasNews ||= hasMore;
        if (text !== '') return text;
        if (hasMore) await new Promise((resume) => setImmediate(resume));
        continue;
      }
      if (end === 'when-quiet') return undefined;
      if ((await this.#news()) === 'silence') {
        // Another process may have written what no signal told of, or ended the session.
        if (!isWelcome()) return undefined;
        this.#hasNews = true;
        return ':\n\n';
      }
    }
  }

  async #news(): Promise<Woken> {
    const { promise, resolve } = Promise.withResolvers<Woken>();
    const timer = setTimeout(() => resolve('silence'), heartbeatMs);
    this.#waking = resolve;
    const woken = await promise;
    this.#waking = undefined;
    clearTimeout(timer);
    return woken;
  }
}
