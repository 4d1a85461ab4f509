/**
 * The control thread's HTTP face: every request that is not a short link.
 *
 *   /v1/…                    match -> guard -> idempotency -> parse -> handler -> encode (`handle` to `#run`)
 *   /i/…                     images, no key
 *   /docs                    pages made at the first request
 *   /r/… /unsubscribe/…      pages for people without an account, by the token of a link
 *   / /codes … /assets/…     the dashboard, if it is served
 *   /health/…
 *
 * Every error becomes an answer here: a Failure becomes its problem, any other error a 500 whose cause is only in the log.
 * In a cluster each answer passes the gate (api/cluster/gate.ts).
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import {
  type Handler,
  isRead,
  type Reply,
  type Request,
  withHeader,
} from '../platform/uws/request.ts';
import { Failure } from '../model/failure.ts';
import type { Actor } from '../model/workspace.ts';
import type { CounterHandle, HistogramHandle } from '../platform/metrics.ts';
import {
  answerName,
  assertIdempotencyKey,
  type IdempotentRequest,
  isFinal,
  requestFingerprint,
  type KeptAnswer,
} from '../product/workspaces/idempotency.ts';
import { Audit } from './kernel/audit.ts';
import { SessionCookie } from './workspaces/cookie.ts';
import { ClusterGate } from './cluster/gate.ts';
import { Docs } from './docs/docs.ts';
import { Guard, withRate, type Admission } from './kernel/guard.ts';
import { liveReply, readyReply } from './health.ts';
import { imageReply } from './images/images.ts';
import { Packing } from './kernel/packing.ts';
import {
  defectReply,
  otherMethodReply,
  problemKinds,
  problemReply,
  replayedProblem,
  type TextReply,
} from './kernel/problem.ts';
import {
  type Access,
  createRoute,
  isIdempotent,
  type Result,
  type Route,
  type StreamedResult,
  takesBody,
  withUnknownParameters,
} from './kernel/route.ts';
import { Router, type Match, type RouteMatch } from './kernel/router.ts';
import { PublicPages, publicPrefixes } from './reports/public-pages.ts';
import { createRoutes } from './routes.ts';
import type { ApiServices } from './services.ts';

const versionPrefix = '/v1';
const imagePrefix = '/i/';
/** Paths below these are never the dashboard's. */
const ownPaths = [imagePrefix, '/docs', '/health/', '/metrics', ...publicPrefixes];
/** Upper bounds, in seconds, of the latency histogram: from a cached read to a slow disk. */
const latencyBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** An answer with the closed name under which it is counted. */
interface Answered {
  readonly reply: Reply;
  readonly name: string;
}

export class ApiServer implements Handler {
  readonly #services: ApiServices;
  readonly #guard: Guard;
  readonly #audit: Audit;
  readonly #router: Router;
  readonly #docs: Docs;
  readonly #packing = new Packing();
  readonly #publicPages: PublicPages;
  /** Absent on a standalone machine. */
  readonly #gate: ClusterGate | undefined;
  readonly #docsUrl: string;
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
    this.#docsUrl = `${publicUrl}/docs`;
    this.#docs = new Docs(routes, { publicUrl, shortUrlBase: config.shortUrlBase });
    this.#router = new Router([...routes, openApiRoute(this.#docs)]);
    const { cluster } = services;
    this.#gate = cluster && new ClusterGate(cluster, this.#docsUrl);
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
    const { clock, log } = this.#services;
    const startMs = clock.monotonicMs();
    const { path, method } = request;
    const match = path.startsWith(`${versionPrefix}/`)
      ? this.#router.match(method, path.slice(versionPrefix.length))
      : undefined;
    const route = match?.kind === 'route' ? match.route : undefined;
    // Before the first await: the body arrives afterwards.
    if (route?.bodyBytesMax !== undefined) request.limitBody(route.bodyBytesMax);
    const { reply: whole, name } =
      match === undefined ? await this.#page(request) : await this.#versioned(request, match);
    const reply = isRead(request) ? await this.#packing.pack(whole, request, name) : whole;
    const seconds = (clock.monotonicMs() - startMs) / 1_000;
    this.#requests.add(1, { route: name, status: reply.status });
    this.#latency.observe(seconds, { route: name });
    log.debug({ requestId: request.id, route: name, status: reply.status, seconds }, 'answered');
    return reply;
  }

  async #versioned(request: Request, match: Match): Promise<Answered> {
    const access = accessOf(match);
    const answer = async (): Promise<Reply> => {
      const admission = await this.#guard.admit(request, access);
      const reply = await this.#admitted(request, match, admission);
      await this.#audit.note(request, match, admission, reply);
      const rated = withRate(reply, admission.rate);
      return match.kind === 'route'
        ? withUnknownParameters(rated, request.query, match.route)
        : rated;
    };
    const reply = await this.#gated(request, access !== 'viewer', answer);
    return { reply, name: match.kind === 'route' ? match.route.operationId : match.kind };
  }

  async #admitted(request: Request, match: Match, admission: Admission): Promise<Reply> {
    const { failure } = admission;
    if (failure !== undefined) return this.#problem(failure, request);
    if (match.kind === 'none') {
      return this.#problem(new Failure('not_found', 'Resource not found'), request);
    }
    if (match.kind === 'other_method') {
      return otherMethodReply(request, match.allow, this.#docsUrl);
    }
    const run = async (asked: Request): Promise<Reply> => {
      try {
        return await this.#run(asked, match, admission);
      } catch (error) {
        const isForged = error instanceof Failure && error.code === 'invalid_signature';
        if (isForged) this.#guard.countRefused(request);
        return this.#failed(error, request);
      }
    };
    return await (this.#gate?.limit(request, match.route, run) ?? run(request));
  }

  /** Under an Idempotency-Key: one effect and one answer, however often the request is sent. */
  async #run(request: Request, match: RouteMatch, admission: Admission): Promise<Reply> {
    const { route, params } = match;
    const { actor, session } = admission;
    const call = { ...request, actor, session, params };
    const key = request.header('idempotency-key');
    if (takesBody(route)) assertPlain(request.header('content-encoding'));
    if (key === undefined || route.keepsItsAnswer === true || !isIdempotent(route)) {
      return resultReply(await route.run({ ...call, keep: undefined }));
    }
    const named = namedFor(actor, request, key);
    const fingerprint = requestFingerprint(route.method, request.path, await request.body());
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
    return replayedProblem(withHeader(reply, 'Idempotent-Replayed', 'true'), request);
  }

  /** Returns a final refusal as an answer to store; throws an error that a repeated request may not meet. */
  #finalProblem(error: unknown, request: Request): KeptAnswer {
    if (!(error instanceof Failure) || !isFinal(problemKinds[error.code].status)) throw error;
    const { status, headers, body } = this.#problem(error, request);
    return { status, headers, body };
  }

  /** Pages, images and health, which need no key. */
  async #page(request: Request): Promise<Answered> {
    const { path } = request;
    const { dashboard, health } = this.#services;
    const reads = isRead(request);
    const isOwn = ownPaths.some((prefix) => path.startsWith(prefix));
    const shown = reads && !isOwn ? dashboard?.reply(request) : undefined;
    if (shown !== undefined) return { reply: shown, name: 'dashboard' };
    const open = this.#publicPages.find(request);
    if (open !== undefined) {
      return { reply: await this.#gated(request, false, open), name: 'public' };
    }
    const page = this.#docs.find(path);
    const isImage = path.startsWith(imagePrefix);
    const isHealth = path === '/health/live' || path === '/health/ready';
    if (page === undefined && !isImage && !isHealth) {
      const failure = new Failure('not_found', 'Page not found');
      const reply = withRate(this.#problem(failure, request), this.#guard.countRefused(request));
      return { reply, name: 'unknown' };
    }
    if (!reads) {
      const reply = otherMethodReply(request, 'GET, HEAD', this.#docsUrl);
      return { reply, name: 'other_method' };
    }
    if (page !== undefined) return { reply: page, name: path };
    if (isHealth) {
      return { reply: path === '/health/live' ? liveReply() : readyReply(health()), name: path };
    }
    const image = () => imageReply(this.#services, request);
    return { reply: await this.#gated(request, false, image), name: 'images' };
  }

  async #gated(request: Request, mayChange: boolean, work: () => Promise<Reply>): Promise<Reply> {
    const answer = async (): Promise<Reply> => {
      try {
        return await work();
      } catch (error) {
        return this.#failed(error, request);
      }
    };
    return await (this.#gate?.pass(request, mayChange, answer) ?? answer());
  }

  refuse(request: Request, failure: Failure): Reply {
    this.#requests.add(1, { route: 'refused', status: problemKinds[failure.code].status });
    return withRate(this.#problem(failure, request), this.#guard.countRefused(request));
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

/** An unknown path asks for any key. */
const accessOf = (match: Match): Access => (match.kind === 'route' ? match.route.access : 'viewer');

/** The only operation that the document does not describe. */
const openApiRoute = (docs: Docs): Route =>
  createRoute({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    access: 'public',
    tag: 'Sessions',
    summary: 'Get this document',
    description: 'OpenAPI 3.1.',
    answer: { status: 200, schema: z.unknown(), what: 'The document' },
    failures: [],
    handle: () => docs.openApi(),
  });

/**
 * Workspaces are numbered from 1; 0 is for callers without one, by client address. An answer with a secret is replayed
 * only to a caller who sends the same bytes, including token and password.
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

/** A compressed body would be read as its compressed bytes. @throws Failure unsupported_media_type */
function assertPlain(encoding = 'identity'): void {
  if (/^(?:identity)?$/i.test(encoding)) return;
  const detail = 'Cannot read the body: its Content-Encoding is not supported, expected none';
  throw new Failure('unsupported_media_type', detail);
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
