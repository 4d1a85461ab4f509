/**
 * The server on uWebSockets.js for everything except redirects.
 *
 *   uWS any('/*') -> framing check -> cap of requests in flight -> Handler.handle -> rest of the body -> cork + send
 *
 * Invariants: onAborted and onData are registered before the handler returns (otherwise uWS ends the process); nothing
 * is written to an aborted response; nothing thrown escapes. Memory: `inFlightMax` requests with bodies of 64 KiB, or as `limitBody` says.
 * Ambiguous framing is refused, and a chunked request answered, one event-loop cycle later, and the connection is closed:
 * uWS closes a connection that brings another request while a response is pending (platform/uws/framing.ts). The price:
 * clients that pipeline are disconnected during slow answers.
 */
import type * as uWS from 'uWebSockets.js';
import { Failure } from '../../model/failure.ts';
import { Body } from '../../platform/uws/body.ts';
import { addressText, type ClientAddresses } from '../../platform/uws/client-address.ts';
import { type Connection, connectionAsked, inNextCycle } from '../../platform/uws/framing.ts';
import { Headers } from '../../platform/uws/headers.ts';
import { type ConnectionGroup, Listener } from '../../platform/uws/listener.ts';
import { assertPortFree, ListenError, type TlsFiles } from '../../platform/uws/port.ts';
import {
  type Handler,
  type KnownHeader,
  type Reply,
  type Request,
} from '../../platform/uws/request.ts';
import {
  type Answer,
  assertSafe,
  isSource,
  noSniffing,
  sendStream,
  write,
  writeHead,
} from '../../platform/uws/write.ts';

/** An early answer waits this long for the rest of the body. */
const lingerMs = 500;
/** A drain ends after this time without a request, even with idle connections. */
const quietMs = 500;
/** Long enough for a phone in a tunnel. */
const standardStallMs = 60_000;
/** Requests in flight: 128 MiB of bodies at most. */
const standardInFlightMax = 2_048;
const standardBodyTimeoutMs = 10_000;
/** uWS's idle timer of 10 s counts in steps of 4 s: renewed this often, it never ends. */
const renewMs = 4_000;
const drainPollMs = 20;

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  /** During a takeover: the predecessor listens there too. */
  readonly isShared?: boolean;
  /** Deadline for each 64 KiB of a body, then 408; default: 10 s. */
  readonly bodyTimeoutMs?: number;
  readonly connectionsMax?: number;
  /** More are answered with 503; default: 2,048. */
  readonly inFlightMax?: number;
  /** A client that reads nothing of a streamed answer for this long is disconnected; default: a minute. */
  readonly stallMsMax?: number;
  readonly tls?: TlsFiles;
  /** Added to each answer. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly addresses: ClientAddresses;
  /** Absent = no other machine forwards requests to this one. */
  readonly forwarded?: ForwardedRequests | undefined;
  readonly newRequestId: () => string;
  readonly handler: Handler;
  readonly onDefect: (error: unknown, requestId: string) => void;
}

export interface ForwardedRequests {
  /** The client of a request that another machine of the cluster forwards; undefined for other requests. */
  clientOf(request: Pick<Request, 'method' | 'path' | 'header'>): string | undefined;
}

export class HttpServer {
  readonly #listener: Listener;
  readonly #options: HttpServerOptions;
  /** Until their answers end. */
  readonly #bodies = new Set<Body>();
  readonly #renewing: NodeJS.Timeout;
  #inFlight = 0;
  /** Streamed answers do not count against `inFlightMax`, but a drain waits for them. */
  #streams = 0;
  #isDraining = false;
  #arrivals = 0;

  private constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#listener = new Listener({
      ...options,
      attach: (app, group) => app.any('/*', (res, req) => this.#accept(res, req, group)),
    });
    this.#renewing = setInterval(() => {
      for (const body of this.#bodies) body.renew();
    }, renewMs);
  }

  static async open(options: HttpServerOptions): Promise<HttpServer> {
    const { host, port, isShared = false } = options;
    if (port !== 0 && !isShared) await assertPortFree(host, port);
    const server = new HttpServer(options);
    const isListening = await new Promise((resolve) => server.#listener.listen(resolve));
    if (isListening !== true) {
      server.close();
      throw new ListenError(`Cannot listen on ${host}:${port}: expected a free port`);
    }
    return server;
  }

  get port(): number {
    return this.#listener.port;
  }
  get inFlight(): number {
    return this.#inFlight;
  }
  get connections(): number {
    return this.#listener.open;
  }
  get shed(): number {
    return this.#listener.shed;
  }

  /** Stops listening, answers with `Connection: close`, and closes after the last connection, `quietMs` or `msMax`. */
  async drain(msMax: number): Promise<void> {
    this.#isDraining = true;
    await this.#listener.leave();
    let quiet = 0;
    for (let waited = 0; waited < msMax && this.connections > 0; waited += drainPollMs) {
      const isBusy = this.#inFlight > 0 || this.#streams > 0 || this.#arrivals > 0;
      quiet = isBusy ? 0 : quiet + drainPollMs;
      this.#arrivals = 0;
      if (quiet >= quietMs) break;
      await new Promise((resolve) => setTimeout(resolve, drainPollMs));
    }
    this.close();
  }

  close(): void {
    this.#isDraining = true;
    clearInterval(this.#renewing);
    this.#listener.close();
  }

  #accept(res: uWS.HttpResponse, req: uWS.HttpRequest, group: ConnectionGroup): void {
    this.#arrivals += 1;
    const headers = new Headers();
    req.forEach((name, value) => headers.add(name, value));
    const body = new Body(headers.bodyBytes, res);
    if (!body.isEnded) this.#bodies.add(body);
    res.onAborted(() => {
      this.#bodies.delete(body);
      body.abort();
    });
    res.onData((chunk, isLast) => body.push(chunk, isLast));
    const request = this.#request(res, req, headers, body);
    const fault = headers.fault(request.method) ?? this.#overload();
    if (fault !== undefined) {
      this.#bodies.delete(body);
      inNextCycle(() => this.#refuse(res, request, fault));
    } else void this.#answer(res, request, body, group);
  }

  #request(res: uWS.HttpResponse, req: uWS.HttpRequest, headers: Headers, body: Body): Request {
    const peer = addressText(res.getRemoteAddressAsText());
    const { addresses, forwarded, newRequestId } = this.#options;
    const { bodyTimeoutMs = standardBodyTimeoutMs } = this.#options;
    const method = req.getMethod().toUpperCase();
    const path = req.getUrl();
    const header = (name: KnownHeader): string | undefined => headers.get(name);
    const resolve = (): string =>
      addresses.resolve(
        peer,
        addressText(res.getProxiedRemoteAddressAsText()),
        headers.get('x-forwarded-for') ?? '',
      );
    return {
      id: newRequestId(),
      method,
      path,
      query: req.getQuery() ?? '',
      header,
      peerAddress: peer,
      clientAddress: forwarded?.clientOf({ method, path, header }) ?? resolve(),
      body: () => body.read(bodyTimeoutMs),
      chunks: () => body.chunks(bodyTimeoutMs),
      limitBody: (bytesMax) => body.limit(bytesMax),
      get aborted() {
        return body.isAborted;
      },
    };
  }

  #overload(): Failure | undefined {
    if (this.#inFlight < (this.#options.inFlightMax ?? standardInFlightMax)) return undefined;
    return new Failure('overloaded', 'The service has too many requests in flight', {
      retryAfterSeconds: 1,
    });
  }

  #refuse(res: uWS.HttpResponse, request: Request, failure: Failure): void {
    if (request.aborted) return;
    let reply: Reply;
    try {
      reply = this.#options.handler.refuse(request, failure);
    } catch (error) {
      this.#options.onDefect(error, request.id);
      reply = lastResort;
    }
    // With a length for HEAD, uWS does not close.
    const { body: _body, ...bare } = reply;
    const answer = this.#answerOf(request, request.method === 'HEAD' ? bare : reply);
    const asked = connectionAsked(request.header('connection') ?? '');
    const connection = asked === 'closing' ? asked : 'close';
    res.cork(() => write(res, answer, connection));
  }

  async #answer(
    res: uWS.HttpResponse,
    request: Request,
    body: Body,
    group: ConnectionGroup,
  ): Promise<void> {
    this.#countInFlight(group, 1);
    try {
      const reply = await this.#reply(request);
      if (!body.isEnded) await body.ended(lingerMs);
      const isChunked = request.header('transfer-encoding') !== undefined;
      const asked = connectionAsked(request.header('connection') ?? '');
      const closes = this.#isDraining || !body.isEnded || isChunked;
      const connection = asked === 'keep' && closes ? 'close' : asked;
      if (connection !== 'keep') await new Promise<void>(inNextCycle);
      if (body.isAborted) {
        if (isSource(reply.body)) await reply.body[Symbol.asyncIterator]().return?.();
        return;
      }
      if (isSource(reply.body) && request.method !== 'HEAD') {
        // A stream may take hours and must not keep its group open.
        this.#countInFlight(group, -1);
        await this.#stream(res, request, body, { ...reply, body: reply.body }, connection).finally(
          () => this.#countInFlight(group, 1),
        );
      } else {
        res.cork(() => write(res, this.#answerOf(request, reply), connection));
      }
    } catch (error) {
      this.#options.onDefect(error, request.id);
    } finally {
      this.#bodies.delete(body);
      this.#countInFlight(group, -1);
    }
  }

  #countInFlight(group: ConnectionGroup, change: number): void {
    this.#inFlight += change;
    group.inFlight += change;
  }

  async #stream(
    res: uWS.HttpResponse,
    request: Request,
    body: Body,
    { body: source, ...head }: Reply & { readonly body: AsyncIterable<Uint8Array> },
    connection: Connection,
  ): Promise<void> {
    this.#streams += 1;
    try {
      res.cork(() => {
        writeHead(res, this.#answerOf(request, head));
        if (connection !== 'keep') res.writeHeader('Connection', 'close');
      });
      const isAborted = (): boolean => body.isAborted;
      const onGone = (callback: () => void): void => body.onAbort(callback);
      const stallMsMax = this.#options.stallMsMax ?? standardStallMs;
      await sendStream(res, { source, isAborted, onGone, stallMsMax });
    } finally {
      this.#streams -= 1;
    }
  }

  #answerOf(request: Request, reply: Reply): Answer {
    const isOwn = reply.headers['x-request-id'] === undefined;
    const headers = {
      ...(isOwn && { 'X-Request-Id': request.id }),
      [noSniffing.name]: noSniffing.value,
      ...this.#options.headers,
    };
    return { isHead: request.method === 'HEAD', reply, headers };
  }

  async #reply(request: Request): Promise<Reply> {
    try {
      const reply = await this.#options.handler.handle(request);
      assertSafe(reply);
      return reply;
    } catch (error) {
      this.#options.onDefect(error, request.id);
      return lastResort;
    }
  }
}

const lastResort: Reply = {
  status: 500,
  headers: { 'Content-Type': 'application/problem+json' },
  body: JSON.stringify({ title: 'Internal error', status: 500, code: 'internal_error' }),
};
