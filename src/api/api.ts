/**
 * The control thread's HTTP face: every request that is not a short link.
 *
 *   /v1/…            match -> admit (key, quota, role) -> idempotency -> read, check, handle -> headers
 *   /i/…             images, no key
 *   /docs            pages made once at start
 *   /r/… /unsubscribe/…   what people without an account open, by the token of a link
 *   / /codes … /assets/…   the dashboard, where there is one
 *   /health/…
 *
 * Every error becomes an answer here: a Failure its problem, anything else a 500 whose cause is in the log alone.
 */
import { hash } from 'node:crypto';
import type { Handler, KnownHeader, ReadyAnswers, Reply, Request } from '../http/request.ts';
import { Failure } from '../model/failure.ts';
import type { Actor } from '../model/workspace.ts';
import type { CounterHandle, HistogramHandle } from '../telemetry/metrics.ts';
import {
  answerName,
  assertIdempotencyKey,
  type IdempotentRequest,
  isFinal,
  requestFingerprint,
  type KeptAnswer,
} from '../workspaces/idempotency.ts';
import { AnswerBound } from './answer-bound.ts';
import { Audit } from './audit.ts';
import { SessionCookie } from './workspaces/cookie.ts';
import { Docs } from './docs/docs.ts';
import { Guard, withRate, type Admission } from './guard.ts';
import { liveReply, readyReply } from './health.ts';
import { imageReply } from './images/images.ts';
import { Packing } from './packing.ts';
import {
  defectReply,
  problemKinds,
  problemReply,
  replayedProblem,
  type TextReply,
} from './problem.ts';
import { operationAccess, type Access } from './roles.ts';
import { takesBody, type RawCall, type Result, type Route, type StreamedResult } from './route.ts';
import { Router, type Match } from './router.ts';
import { PublicPages, publicPrefixes } from './reports/public-pages.ts';
import { createRoutes } from './routes.ts';
import type { ApiServices } from './services.ts';
import { withUnknownParameters } from './unknown-parameters.ts';

const versionPrefix = '/v1';
const imagePrefix = '/i/';
/** Paths below these are never the dashboard's. */
const ownPaths = [imagePrefix, '/docs', '/health/', '/metrics', ...publicPrefixes];
/** Upper bounds, in seconds, of the latency histogram: from a cached read to a slow disk. */
const latencyBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** An answer with the closed name under which it is counted. */
interface Answered {
  readonly reply: Reply;
  readonly route: string;
  /** Whether it changes something if it succeeds: links may have to follow on other machines. */
  readonly isChange?: boolean;
}

export class ApiServer implements Handler {
  readonly #services: ApiServices;
  readonly #guard: Guard;
  readonly #audit: Audit;
  readonly #router: Router;
  readonly #docs: Docs;
  readonly #packing = new Packing();
  readonly #publicPages: PublicPages;
  readonly #docsUrl: string;
  readonly ready: ReadyAnswers;
  readonly #requests: CounterHandle;
  readonly #latency: HistogramHandle;

  constructor(services: ApiServices) {
    this.#services = services;
    const { config, metrics } = services;
    const { publicUrl } = config.api;
    const cookie = new SessionCookie(publicUrl);
    this.#guard = new Guard(services.workspaces, cookie);
    this.#audit = new Audit(services);
    this.#publicPages = new PublicPages(services);
    const routes = createRoutes(services, cookie);
    this.#router = new Router(routes);
    this.#docsUrl = `${publicUrl}/docs`;
    const { retryDelaysMs } = config.webhooks;
    this.#docs = new Docs(routes, { publicUrl, retryDelaysMs });
    const { imageCache, isStale } = services;
    this.ready = {
      prefix: imagePrefix,
      find: (path, query) =>
        isStale?.() === true ? undefined : imageCache.find(`${path}?${query}`),
    };
    metrics.total(
      'quietzone_ready_images_total',
      'Images sent from memory, beside the requests that are counted by route',
      [],
      () => imageCache.found,
    );
    this.#requests = metrics.counter(
      'quietzone_api_requests_total',
      'Requests answered by the API, by route and status',
      ['route', 'status'],
    );
    this.#latency = metrics.histogram(
      'quietzone_api_request_seconds',
      'Time from the headers of a request to its answer',
      latencyBuckets,
      ['route'],
    );
  }

  async handle(request: Request): Promise<Reply> {
    const { clock, log, changesFollowed } = this.#services;
    const startMs = clock.monotonicMs();
    const { reply: answer, route, isChange = false } = await this.#answer(request);
    const packed = isRead(request) ? await this.#packing.pack(answer, request, route) : answer;
    const behind = isChange && answer.status < 300 ? await changesFollowed?.() : 0;
    const reply = withLinksBehind(packed, behind ?? 0);
    const seconds = (clock.monotonicMs() - startMs) / 1_000;
    this.#requests.add(1, { route, status: reply.status });
    this.#latency.observe(seconds, { route });
    log.debug({ requestId: request.id, route, status: reply.status, seconds }, 'answered');
    return reply;
  }

  bodyBytesMax(method: string, path: string): number | undefined {
    if (!path.startsWith(`${versionPrefix}/`)) return undefined;
    const match = this.#router.match(method, path.slice(versionPrefix.length));
    return match.kind === 'route' ? match.route.bodyBytesMax : undefined;
  }

  refuse(request: Request, failure: Failure): Reply {
    this.#requests.add(1, { route: 'refused', status: problemKinds[failure.code].status });
    return withRate(this.#problem(failure, request), this.#guard.countRefused(request));
  }

  async #answer(request: Request): Promise<Answered> {
    const { path } = request;
    if (path.startsWith(`${versionPrefix}/`)) return this.#versioned(request);
    try {
      const answered = await this.#unversioned(request);
      if (answered !== undefined) return answered;
    } catch (error) {
      return { reply: this.#failed(error, request), route: 'images' };
    }
    const failure = new Failure('not_found', 'There is nothing at this address');
    const reply = withRate(this.#problem(failure, request), this.#guard.countRefused(request));
    return { reply, route: 'unknown' };
  }

  /** What needs no key: pages, images, health. Undefined where there is nothing. */
  async #unversioned(request: Request): Promise<Answered | undefined> {
    const { path } = request;
    const { dashboard, health } = this.#services;
    const reads = isRead(request);
    const isOwn = ownPaths.some((prefix) => path.startsWith(prefix));
    const pages = reads && !isOwn ? dashboard?.reply(request) : undefined;
    if (pages !== undefined) return { reply: pages, route: 'dashboard' };
    const open = this.#publicPages.find(request);
    const opened = async () => ({ reply: await this.#current(request, open!), route: 'public' });
    if (open !== undefined) return this.#leading(request, opened);
    const page = this.#docs.find(path);
    const isImage = path.startsWith(imagePrefix);
    const isHealth = path === '/health/live' || path === '/health/ready';
    if (page === undefined && !isImage && !isHealth) return undefined;
    if (!reads) {
      return { reply: this.#otherMethod(request, 'GET, HEAD'), route: 'other_method' };
    }
    if (page !== undefined) return { reply: page, route: path };
    if (isHealth) {
      return { reply: path === '/health/live' ? liveReply() : readyReply(health()), route: path };
    }
    const image = () => imageReply(this.#services, request);
    return { reply: await this.#current(request, image), route: 'images' };
  }

  async #versioned(request: Request): Promise<Answered> {
    const path = request.path.slice(versionPrefix.length);
    const isOpenApi = path === '/openapi.json';
    const match = this.#router.match(request.method, path);
    const answered = await this.#leading(request, () => this.#admitted(request, match, isOpenApi));
    if (match.kind !== 'route' && !isOpenApi) return answered;
    const route = match.kind === 'route' ? match.route : undefined;
    const isChange = !isRead(request) && accessOf(match, isOpenApi) !== 'viewer';
    const reply = withUnknownParameters(answered.reply, request.query, route);
    return { ...answered, reply, isChange };
  }

  /**
   * `answer`, but for a change while another machine may lead: what it is refused with would come from what is not the
   * newest. One that was made is in the log. Asked before it counts for the quota.
   */
  async #leading(request: Request, answer: () => Promise<Answered>): Promise<Answered> {
    const { isStale, changesRefused } = this.#services;
    if (isStale === undefined || isRead(request)) return await answer();
    const refused = (): Answered => ({
      reply: this.#problem(notLeadingFailure(changesRefused?.()), request),
      route: 'not_leading',
    });
    if (isStale()) return refused();
    const answered = await answer();
    const { status } = answered.reply;
    const isRefusal = status >= 400 && status < 500;
    return isRefusal && isStale() ? refused() : answered;
  }

  async #admitted(request: Request, match: Match, isOpenApi: boolean): Promise<Answered> {
    let admission: Admission;
    try {
      admission = await this.#guard.admit(request, accessOf(match, isOpenApi));
    } catch (error) {
      const reply = withRate(this.#failed(error, request), this.#guard.countRefused(request));
      return { reply, route: 'guard' };
    }
    const { failure } = admission;
    const route = isOpenApi ? 'getOpenApi' : routeName(match);
    const work = () => this.#current(request, () => this.#matched(match, request, admission));
    const admitted = () => (isOpenApi ? this.#openApiReply(request) : work());
    const reply = failure === undefined ? await admitted() : this.#problem(failure, request);
    await this.#audit.note(request, match, admission, reply);
    return { reply: withRate(reply, admission.rate), route };
  }

  /** `answer`, but for a read of what may not be the newest: another machine may be making changes. */
  async #current(request: Request, answer: () => Promise<Reply>): Promise<Reply> {
    const reply = await answer();
    if (!isRead(request) || this.#services.isStale?.() !== true) return reply;
    return withHeader(reply, 'X-Quietzone-Stale', '1');
  }

  async #matched(match: Match, request: Request, admission: Admission): Promise<Reply> {
    if (match.kind === 'other_method') return this.#otherMethod(request, match.allow);
    if (match.kind === 'none') {
      return this.#problem(new Failure('not_found', 'There is no such resource'), request);
    }
    const { answerWithinMs } = this.#services;
    const { route } = match;
    const bound =
      answerWithinMs === undefined || isRead(request)
        ? undefined
        : new AnswerBound(answerWithinMs, route.operationId);
    const call = {
      actor: admission.actor,
      session: admission.session,
      clientAddress: request.clientAddress,
      params: match.params,
      query: request.query,
      contentType: request.header('content-type'),
      body: () => bound?.body(request.body()) ?? request.body(),
      chunks: () => bound?.chunks(request.chunks()) ?? request.chunks(),
      header: (name: KnownHeader) => request.header(name),
    };
    const work = this.#run(route, request, call);
    try {
      return await (bound?.limit(work) ?? work);
    } catch (error) {
      const isLate = error instanceof Failure && error.code === 'outcome_unknown';
      // Nobody gets its answer; a defect goes into the log all the same.
      if (isLate) work.catch((late: unknown) => this.#failed(late, request));
      const isForged = error instanceof Failure && error.code === 'invalid_signature';
      if (isForged) this.#guard.countRefused(request);
      return this.#failed(error, request);
    }
  }

  async #run(route: Route, request: Request, call: Omit<RawCall, 'keep'>): Promise<Reply> {
    const key = request.header('idempotency-key');
    if (takesBody(route)) assertPlain(request.header('content-encoding'));
    if (isKept(route) && key !== undefined) return await this.#once(route, request, key, call);
    return resultReply(await route.run({ ...call, keep: undefined }));
  }

  /** Runs the route under its Idempotency-Key: one effect, one answer, however often it is sent. */
  async #once(
    route: Route,
    request: Request,
    key: string,
    call: Omit<RawCall, 'keep'>,
  ): Promise<Reply> {
    const named = namedFor(call.actor, request, key);
    const fingerprint = requestFingerprint(route.method, request.path, await call.body());
    const { idempotency } = this.#services.workspaces;
    const kept = await idempotency.run({ ...named, fingerprint }, async (ticket) => {
      try {
        return keepable(await route.run({ ...call, keep: (result) => ticket.keep(result) }));
      } catch (error) {
        return this.#finalProblem(error, request);
      }
    });
    const reply = resultReply(kept.answer);
    if (!kept.replayed) return reply;
    const headers = { ...reply.headers, 'Idempotent-Replayed': 'true' };
    return replayedProblem({ ...reply, headers }, request);
  }

  /** A final refusal is an answer to keep; what may go better next time is thrown on. */
  #finalProblem(error: unknown, request: Request): KeptAnswer {
    if (!(error instanceof Failure) || !isFinal(problemKinds[error.code].status)) throw error;
    const { status, headers, body } = this.#problem(error, request);
    return { status, headers, body };
  }

  #openApiReply(request: Request): Reply {
    return isRead(request) ? this.#docs.openApi() : this.#otherMethod(request, 'GET, HEAD');
  }

  #otherMethod(request: Request, allow: string): Reply {
    const detail = `There is no ${request.method} here, expected ${allow}`;
    const reply = this.#problem(new Failure('method_not_allowed', detail), request);
    return { ...reply, headers: { ...reply.headers, Allow: allow } };
  }

  #problem(failure: Failure, request: Request): TextReply {
    return problemReply(failure, request, this.#docsUrl);
  }

  #failed(error: unknown, request: Request): Reply {
    if (error instanceof Failure) return this.#problem(error, request);
    this.#services.log.error({ err: error, requestId: request.id }, 'request failed');
    return defectReply(request, this.#docsUrl);
  }
}

const withHeader = (reply: Reply, name: string, value: string): Reply => ({
  ...reply,
  headers: { ...reply.headers, [name]: value },
});

const withLinksBehind = (reply: Reply, behind: number): Reply =>
  behind > 0 ? withHeader(reply, 'X-Links-Behind', String(behind)) : reply;

const notLeadingFailure = (why = 'another machine may lead by now'): Failure =>
  new Failure('not_active', `Cannot change anything here: ${why}`, { retryAfterSeconds: 1 });

const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

function accessOf(match: Match, isOpenApi: boolean): Access {
  if (isOpenApi) return operationAccess.getOpenApi;
  return match.kind === 'route' ? operationAccess[match.route.operationId] : 'viewer';
}

function isKept(route: Route): boolean {
  const isSigned = operationAccess[route.operationId] === 'signed';
  const isOwn = route.isRepeatable === true || route.keepsItsAnswer === true;
  return route.method === 'POST' && !isOwn && !isSigned;
}

/**
 * Workspaces are numbered from 1; 0 is for callers without one, by client address. They may be replayed a secret
 * answer: only a caller who sends the same bytes, token and password included, gets it.
 */
function namedFor(
  actor: Actor | undefined,
  request: Request,
  key: string,
): Pick<IdempotentRequest, 'workspaceNo' | 'name'> {
  if (actor !== undefined) return { workspaceNo: actor.workspaceNo, name: answerName(actor, key) };
  assertIdempotencyKey(key);
  return { workspaceNo: 0, name: hash('sha256', `${request.clientAddress}\n${key}`, 'base64url') };
}

/** A packed body would be read as the bytes it is packed into. @throws Failure unsupported_media_type */
function assertPlain(encoding = 'identity'): void {
  if (/^(?:identity)?$/i.test(encoding)) return;
  const detail = 'Cannot read the body: its Content-Encoding is not supported, expected none';
  throw new Failure('unsupported_media_type', detail);
}

function routeName(match: Match): string {
  return match.kind === 'route' ? match.route.operationId : match.kind;
}

function keepable(result: Result | StreamedResult): Result {
  const { body, ...head } = result;
  if (typeof body === 'string') return { ...head, body };
  throw new Error('Cannot keep an answer: it is streamed, expected a repeatable route');
}

function resultReply(result: Result | StreamedResult | KeptAnswer): Reply {
  const standard = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
  return {
    status: result.status,
    headers: { ...standard, ...result.headers },
    body: result.body,
  };
}
