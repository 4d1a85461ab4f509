/**
 * GET /events/stream: the events of the workspace as they happen, as server-sent events (WHATWG HTML, 9.2).
 *
 *   commit of a window or a change --signal--> stream --chunk--> client --Last-Event-ID--> …
 *
 * Lost access ends a stream. When keys or roles change, all streams end and clients reconnect. When a session ends, its
 * stream ends before the next event; when a session expires, at the next event or heartbeat.
 * Streams are bounded in all, per workspace, and per key or person. A stream makes a chunk when the client has taken the
 * previous one (event-feed.ts), so a slow client costs no memory. A client that takes nothing for a minute is disconnected
 * (platform/uws/write.ts) and may resume from its last id. A quiet stream sends comments, so that proxies keep it open.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { z } from 'zod';
import { type EventKind, eventKinds } from '../../model/event.ts';
import { Failure } from '../../model/failure.ts';
import type { Signal } from '../../model/signal.ts';
import { EventFeed, type FeedFilter } from './event-feed.ts';
import { sampleEnvelope } from './event-schemas.ts';
import { type EventLogs, readPosition, type StreamStart } from './stream-position.ts';
import { givenId } from '../kernel/fields.ts';
import { createRoute, type Route } from '../kernel/route.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** A comment after so much silence. */
const heartbeatMs = 15_000;
/** A client reconnects after this. */
const retryMs = 2_000;
const streamsMax = 512;
const workspaceStreamsMax = 64;
/** Per key or person, not per address: an office may share one. */
const clientStreamsMax = 16;
const retryAfterSeconds = 15;
/** Then the client reconnects with its key, and resumes from its last id. */
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

const query = z.object({
  event: kindList.optional().meta({ description: 'Only these kinds, separated by commas' }),
  code: givenId('qr', 'a QR code').optional().meta({ description: 'Only events of this code' }),
  lastEventId: z.string().min(1).max(512).optional().meta({
    description:
      'Instead of the Last-Event-ID header: an id of this stream, or of an event (`evt_…`)',
  }),
  once: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Ends after the last available event, for polling' }),
});

const what =
  'Events as `data:` lines, in the envelope of webhooks; `id:` is the position to resume from. `event: gap` ' +
  'means that earlier events are no longer stored, or that the last id is from another workspace.';

const sample =
  'id: dGhlIHBvc2l0aW9uIG9mIHRoZSBzdHJlYW0sIGVuY3J5cHRlZCBhbmQgb3BhcXVl\ndata: ' +
  `${JSON.stringify(sampleEnvelope('qr.deleted'))}\n\n`;

export interface EventStreamOptions extends EventLogs {
  /** Fired after commits of changes and of windows. */
  readonly committed: readonly Signal[];
  /** Differs when keys, roles or memberships have changed. */
  readonly accessVersion: () => number;
  /** Whether the session still exists. */
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
    access: 'viewer',
    tag: 'Events',
    summary: 'Follow events live',
    description:
      'Server-sent events, from now or from the last id: an id of this stream or of an event. Costs one request, ' +
      'however long it lasts. `email` of `member.invited` is for admins.',
    query,
    requestHeaders: {
      'Last-Event-ID': z
        .string()
        .optional()
        .meta({ description: 'Resumes after this id; browsers send it when they reconnect' }),
    },
    answer: { status: 200, schema: z.string(), what, mediaTypes: ['text/event-stream'] },
    samples: { answer: { 'text/event-stream': sample } },
    failures: [],
    handle: ({ actor, session, query: asked, header }) => {
      const { keyId, role, userId, workspaceNo } = actor;
      const lastId = asked.lastEventId ?? header('last-event-id') ?? '';
      const from = lastId === '' ? undefined : readPosition(options, workspaceNo, lastId);
      const filter = { workspaceNo, role, kinds: asked.event, codeId: asked.code };
      const end = asked.once === 'true' ? 'when-quiet' : 'never';
      const listener = { client: keyId ?? userId, sessionHash: session?.hash };
      const body = streams.open(filter, listener, from, end);
      const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };
      return { status: 200, headers, body };
    },
  });
  return [follow];
}

type End = 'never' | 'when-quiet';

interface Listener {
  /** The key, or the signed-in person. */
  readonly client: string;
  /** Undefined for an API key. */
  readonly sessionHash: string | undefined;
}

/** All streams of this process. */
class EventStreams {
  readonly #options: EventStreamOptions;
  readonly #open = new Set<EventStream>();
  /** The access version under which the open streams were allowed. */
  #access: number;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#access = options.accessVersion();
    for (const signal of options.committed) signal.listen(() => this.#wake());
    options.stopping.listen(() => this.#endAll('the service stops'));
  }

  /**
   * A revoked key must not get further events, so all streams end when access changes. An ended session
   * ends only its own stream.
   */
  #wake(): void {
    const access = this.#options.accessVersion();
    if (access !== this.#access) this.#endAll('access has changed, reconnect');
    else for (const stream of this.#open) stream.wake();
    this.#access = access;
  }

  #endAll(why: string): void {
    for (const stream of this.#open) stream.end(why);
  }

  /** @throws Failure overloaded */
  open(
    filter: FeedFilter,
    { client, sessionHash }: Listener,
    from: StreamStart | undefined,
    end: End,
  ): AsyncIterable<Uint8Array> {
    this.#assertRoom(filter.workspaceNo, client);
    const { isSignedIn } = this.#options;
    const isAllowed = () => sessionHash === undefined || isSignedIn(sessionHash);
    const feed = new EventFeed(this.#options, filter, from);
    const options = { feed, end, workspaceNo: filter.workspaceNo, client, isAllowed };
    // Counted from its first pull: an answer to HEAD is never pulled or ended.
    const begin = (): AsyncIterator<Uint8Array> => {
      const stream = new EventStream(options, () => this.#open.delete(stream));
      this.#open.add(stream);
      return stream.iterator();
    };
    return { [Symbol.asyncIterator]: begin };
  }

  /** @throws Failure overloaded */
  #assertRoom(workspaceNo: WorkspaceNo, client: string): void {
    const own = [...this.#open].filter(({ options }) => options.workspaceNo === workspaceNo);
    const ofClient = own.filter(({ options }) => options.client === client);
    if (
      ofClient.length < clientStreamsMax &&
      own.length < workspaceStreamsMax &&
      this.#open.size < streamsMax
    ) {
      return;
    }
    const detail =
      `Too many live streams are open, expected at most ${clientStreamsMax} per key or user and ` +
      `${workspaceStreamsMax} per workspace`;
    throw new Failure('overloaded', detail, { retryAfterSeconds });
  }
}

interface StreamOptions {
  readonly feed: EventFeed;
  readonly end: End;
  readonly workspaceNo: WorkspaceNo;
  readonly client: string;
  /** Whether the session has not ended. */
  readonly isAllowed: () => boolean;
}

class EventStream {
  readonly options: StreamOptions;
  readonly #onEnd: () => void;
  readonly #life: NodeJS.Timeout;
  #isGone = false;
  /** Why the stream ends, once it does. */
  #end: string | undefined;
  #onWake: ((reason: 'commit' | 'silence') => void) | undefined;

  constructor(options: StreamOptions, onEnd: () => void) {
    this.options = options;
    this.#onEnd = onEnd;
    this.#life = setTimeout(() => this.end('reconnect'), lifeMsMax);
  }

  wake(): void {
    if (this.options.isAllowed()) this.#onWake?.('commit');
    else this.end('signed out');
  }

  /** Ends with a comment that says why. */
  end(why: string): void {
    this.#end ??= why;
    this.#onWake?.('commit');
  }

  /** `return` is called when the client has gone, also while a `next` waits. */
  iterator(): AsyncIterator<Uint8Array> {
    const chunks = this.#chunks();
    return {
      next: () => chunks.next(),
      return: async () => {
        this.#release();
        return { done: true, value: undefined };
      },
    };
  }

  #release(): void {
    this.#isGone = true;
    clearTimeout(this.#life);
    this.#onEnd();
    this.#onWake?.('commit');
  }

  async *#chunks(): AsyncGenerator<Uint8Array, undefined> {
    const { feed, end, isAllowed } = this.options;
    const gap = feed.hasGap ? 'event: gap\ndata: {"reason":"not_kept"}\n\n' : '';
    try {
      yield Buffer.from(`retry: ${retryMs}\n${feed.idLine()}\n${gap}`);
      while (!this.#isGone && this.#end === undefined) {
        const { text, hasMore } = feed.next();
        if (text !== '') {
          yield Buffer.from(text);
        } else if (hasMore) {
          await yieldToEventLoop();
        } else if (end === 'when-quiet') {
          return;
        } else if ((await this.#nextCommit()) === 'silence') {
          // The session may have expired.
          if (!isAllowed()) return;
          yield Buffer.from(':\n\n');
        }
      }
      if (this.#end !== undefined) yield Buffer.from(`: ${this.#end}\n\n`);
    } finally {
      this.#release();
    }
  }

  async #nextCommit(): Promise<'commit' | 'silence'> {
    const { promise, resolve } = Promise.withResolvers<'commit' | 'silence'>();
    const timer = setTimeout(() => resolve('silence'), heartbeatMs);
    this.#onWake = resolve;
    const reason = await promise;
    this.#onWake = undefined;
    clearTimeout(timer);
    return reason;
  }
}
