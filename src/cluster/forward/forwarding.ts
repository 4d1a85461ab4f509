/**
 * The API's port of a machine that does not lead: it answers for its own health and sends everything else to the leader.
 *
 *   /health/…                answered here
 *   all else                 -> the leader, body and answer piece by piece -> the client
 *
 * The leader gets method, address, body, and every header that the service reads, but X-Forwarded-For: this machine has read
 * it, and sends the client's address with a proof (machine-proof.ts). A forwarded request is never forwarded again.
 *
 * What the client gets without an answer of the leader:
 *
 *   no leader is known, or it cannot be reached    503 not_active: nothing was sent, so nothing was changed
 *   the connection was lost later                  503 outcome_unknown for what may change something, else not_active
 *   in the middle of the answer                    the connection is cut, as the leader's own would be; live events just end
 *   another machine leads by now                   a read is sent to that one; a change gets 503 outcome_unknown, a stream just ends
 *
 * Bounds: one connection for each open request, requests as the server bounds them, 256 KiB of each answer.
 */
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { Agent, buildConnector } from 'undici';
import { standardBounds } from '../../api/codes/bulk-gate.ts';
import { liveReply, readyReply } from '../../api/health.ts';
import { otherMethodReply, problemReply } from '../../api/kernel/problem.ts';
import {
  type Handler,
  isRead,
  knownHeaders,
  type Reply,
  type Request,
} from '../../platform/uws/request.ts';
import { Failure } from '../../model/failure.ts';
import type { HealthReport } from '../../platform/health.ts';
import type { Logger } from '../../platform/log.ts';
import type { MachineProof } from '../machine-proof.ts';
import { type AnswerHead, LeaderAnswer } from './leader-answer.ts';

/** A shorter answer is sent whole, with its length. */
const wholeBytesMax = 65_536;
const retryAfterSeconds = 1;
/** How often a request that waits checks who leads. */
const watchMs = 100;
const bulkPath = '/v1/qr-codes/bulk';
/**
 * For other paths. The leader accepts 0.6 MB at most, a code with a logo. It reads 1 MiB of a body that it refuses; a longer
 * one could lose the refusal.
 */
const otherBodyBytesMax = 1_048_576;
const standardTimeouts = {
  /** Until the leader has taken the connection: a running machine takes a round trip or two. */
  connectMs: 2_000,
  /** From the end of the request to the head of the answer: 10,000 codes take some seconds, and may wait for others. */
  headMs: 60_000,
  /** Between two pieces of an answer, where the client reads: a live stream sends something every 15 s. */
  silenceMs: 60_000,
  /** A connection is kept open for so long: uWebSockets closes an idle one after 8 s at the earliest. */
  idleMs: 2_000,
  /** A former leader may still answer for so long: one that gives the lead away answers within some milliseconds. */
  changedMs: 700,
};

export interface ForwardingOptions {
  /** Undefined while no leader is known, or if this process leads and its API does not listen yet. */
  readonly leader: () => { readonly url: string } | undefined;
  readonly proof: MachineProof;
  readonly health: () => HealthReport;
  /** Of the reference page of problems. */
  readonly docsUrl: string;
  readonly log: Logger;
  readonly timeouts?: typeof standardTimeouts;
}

export class ForwardingHandler implements Handler {
  readonly #options: ForwardingOptions;
  /** A former leader ends what it has begun, and its connections end soon when they are idle. */
  readonly #agent: Agent;
  /** Answers that would never end. */
  readonly #streams = new Set<LeaderAnswer>();
  #isEnding = false;

  constructor(options: ForwardingOptions) {
    const { timeouts = standardTimeouts } = options;
    this.#options = options;
    this.#agent = new Agent({
      connect: connectorWithin(timeouts.connectMs),
      headersTimeout: timeouts.headMs,
      bodyTimeout: timeouts.silenceMs,
      keepAliveTimeout: timeouts.idleMs,
      keepAliveMaxTimeout: timeouts.idleMs,
    });
  }

  async handle(request: Request): Promise<Reply> {
    const isBulk = request.path === bulkPath;
    request.limitBody(isBulk ? standardBounds.bodyBytesMax : otherBodyBytesMax);
    const own = await this.#own(request);
    if (own !== undefined) return own;
    const origin = this.#origin;
    const { docsUrl } = this.#options;
    const { method } = request;
    if (!knownMethods.has(method)) return otherMethodReply(request, allMethods, docsUrl);
    if (origin === undefined || this.#options.proof.isForwarded(request)) {
      return this.refuse(request, notActive('no machine of the cluster is known to lead'));
    }
    return await this.#forward(request, origin);
  }

  refuse(request: Request, failure: Failure): Reply {
    return problemReply(failure, request, this.#options.docsUrl);
  }

  /** Live events end, also those that come: their clients ask another machine. */
  endStreams(): void {
    this.#isEnding = true;
    for (const answer of this.#streams) answer.leave();
  }

  /** Cuts what is under way. */
  async close(): Promise<void> {
    this.endStreams();
    await this.#agent.destroy();
  }

  /** Of the leader, unless it is this process. */
  get #origin(): string | undefined {
    return URL.parse(this.#options.leader()?.url ?? '')?.origin;
  }

  async #own(request: Request): Promise<Reply | undefined> {
    const { health, docsUrl } = this.#options;
    const { path } = request;
    if (path !== '/health/live' && path !== '/health/ready') return undefined;
    if (!isRead(request)) return otherMethodReply(request, 'GET, HEAD', docsUrl);
    return path === '/health/live' ? liveReply() : readyReply(health());
  }

  async #forward(request: Request, origin: string): Promise<Reply> {
    const answer = new LeaderAnswer();
    const unwatch = this.#watch(origin, () => answer.fail(new LeaderChangedError()));
    try {
      this.#dispatch(request, origin, answer);
      const reply = await replyOf(request, await answer.head, answer);
      if (isEndless(reply)) this.#stream(answer, unwatch);
      else unwatch();
      return reply;
    } catch (error) {
      unwatch();
      answer.leave();
      const next = this.#origin;
      const mayGoOn = error instanceof LeaderChangedError && isRead(request) && !hasBody(request);
      if (mayGoOn && next !== undefined && !request.aborted) {
        return await this.#forward(request, next);
      }
      const failure = failureOf(error, answer, request);
      const { id: requestId, method } = request;
      const entry = { err: error, requestId, method, leader: origin };
      if (failure.code === 'outcome_unknown') this.#options.log.warn(entry, 'forwarding failed');
      else this.#options.log.debug(entry, 'forwarding failed');
      return this.refuse(request, failure);
    }
  }

  /** A client of live events reconnects by itself: a lost leader ends them without a fault. */
  #stream(answer: LeaderAnswer, unwatch: () => void): void {
    this.#streams.add(answer);
    answer.endQuietly(() => {
      unwatch();
      this.#streams.delete(answer);
    });
    if (this.#isEnding) answer.leave();
  }

  /**
   * A machine that hangs or is cut off keeps its connections. Without this a client waits for a minute, while another machine
   * leads within seconds. The leader has `changedMs` to give the lead away and answer what it has begun.
   * @param onChanged called once at most @returns ends the watch
   */
  #watch(origin: string, onChanged: () => void): () => void {
    const { changedMs } = this.#options.timeouts ?? standardTimeouts;
    let changes = 0;
    const timer = setInterval(() => {
      changes = this.#origin === origin ? 0 : changes + 1;
      if (changes * watchMs <= changedMs) return;
      clearInterval(timer);
      onChanged();
    }, watchMs).unref();
    return () => clearInterval(timer);
  }

  /** @throws Error for invalid HTTP: a control character in a header */
  #dispatch(request: Request, origin: string, answer: LeaderAnswer): void {
    const { method, path, query } = request;
    const target = query === '' ? path : `${path}?${query}`;
    this.#agent.dispatch(
      {
        origin,
        method,
        path: rawText(target),
        headers: { ...headersOf(request), ...this.#options.proof.headersOf(request) },
        body: hasBody(request) ? Readable.from(request.chunks(), { objectMode: false }) : null,
      },
      answer,
    );
  }
}

/** undici would take the name for TLS from the Host header, which is the one that the client has asked for. */
function connectorWithin(timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout });
  return (options, callback) => {
    const servername = isIP(options.hostname) === 0 ? options.hostname : '';
    connect({ ...options, servername }, callback);
  };
}

/** Those of the API's routes: undici treats CONNECT unlike other requests. */
const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
]);
const allMethods = [...knownMethods].join(', ');

const hasBody = (request: Request): boolean =>
  request.header('transfer-encoding') !== undefined ||
  Number(request.header('content-length') ?? '0') > 0;

/** About the connection to this machine, or set by this machine for the leader. */
const ownRequestHeaders: ReadonlySet<string> = new Set([
  'connection',
  'transfer-encoding',
  'x-forwarded-for',
  'x-quietzone-client',
  'x-quietzone-proof',
]);
/** About the leader's connection, or written by this machine's server to every answer. */
const ownAnswerHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'strict-transport-security',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-content-type-options',
]);

function headersOf(request: Request): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of knownHeaders) {
    const value = ownRequestHeaders.has(name) ? undefined : request.header(name);
    if (value !== undefined) headers[name] = rawText(value);
  }
  return headers;
}

/** UTF-8 was read, and a byte is written for each character: these are the bytes that came. */
const rawText = (text: string): string => Buffer.from(text).toString('latin1');

async function replyOf(
  request: Request,
  { status, headers: received }: AnswerHead,
  answer: LeaderAnswer,
): Promise<Reply> {
  const headers: Record<string, string> = {};
  const repeated: Array<readonly [string, string]> = [];
  for (const [name, value] of Object.entries(received)) {
    if (ownAnswerHeaders.has(name) || value === undefined) continue;
    const [first = '', ...others] = typeof value === 'string' ? [value] : value;
    headers[name] = first;
    for (const other of others) repeated.push([name, other]);
  }
  const reply = { status, headers, repeated };
  const bodyBytes = Number(received['content-length'] ?? Infinity);
  if (request.method === 'HEAD') {
    return Number.isFinite(bodyBytes) ? { ...reply, bodyBytes } : reply;
  }
  if (status === 204 || status === 304) return reply;
  if (bodyBytes <= wholeBytesMax) return { ...reply, body: await answer.whole() };
  return { ...reply, body: answer };
}

/** Live events. */
const isEndless = ({ headers, body }: Reply): boolean =>
  body instanceof LeaderAnswer && headers['content-type'] === 'text/event-stream';

/** The leader has not answered, and another machine leads by now. */
class LeaderChangedError extends Error {
  override readonly name = 'LeaderChangedError';

  constructor() {
    super('another machine leads now');
  }
}

const notActive = (why: string): Failure =>
  new Failure('not_active', `Cannot answer this: ${why}`, { retryAfterSeconds });

function failureOf(error: unknown, { isSent }: LeaderAnswer, request: Request): Failure {
  // Of the body that the client sends.
  if (error instanceof Failure) return error;
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'UND_ERR_INVALID_ARG') {
    return new Failure(
      'bad_request',
      'Cannot read the request: its address or a header has control characters',
    );
  }
  if (!isSent) return notActive('the machine that leads the cluster cannot be reached');
  const isChanged = error instanceof LeaderChangedError;
  const why = isChanged
    ? 'another machine leads now, and the former leader did not answer'
    : 'the connection to the machine that leads was lost before its answer';
  if (isRead(request)) return notActive(why);
  const detail =
    `Cannot say whether the change was made: ${why}. ` +
    'If you send it again with the same Idempotency-Key, it is made once';
  return new Failure('outcome_unknown', detail, { retryAfterSeconds });
}
