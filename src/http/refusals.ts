/**
 * What a request on the short-link port gets when it is no redirect: the pages of `pages.ts`, as HTML for
 * people and JSON where `Accept` asks for it. Counted by kind; unknown codes are throttled by address. `/` leads to `redirect.rootUrl`
 * where that is set.
 *
 * During a takeover also the redirect of a limited link to itself: on a new connection its client finds the process
 * that knows what is left of the limit. Browsers follow 20 redirects: without a pause they would give up before that
 * process listens.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { EndedReason } from '../model/routing/pages.ts';
import { type Connection, framingFault, sendFramed } from './framing.ts';
import type { MissThrottle } from './miss-throttle.ts';
import { type ErrorPage, errorProblem, errorStatus, Pages } from './pages.ts';
import type { ErrorPageKind } from './pages/language-words.ts';
import { noSniffing } from './ready.ts';
import { noRefusals } from './redirect-thread.ts';
import { redirectHead } from './reply-batch.ts';
import type { ScannerAddresses } from './scanner-address.ts';
import { endHead, write } from './write.ts';

const reasons: Readonly<Record<number, string>> = {
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  410: '410 Gone',
  429: '429 Too Many Requests',
  503: '503 Service Unavailable',
};
/** A code has no dot: such requests (favicon.ico, …) help no enumerator. Encoded, its letters take three characters. */
const codeShaped = /^\/[A-Za-z0-9_/%-]{3,192}$/;

/** A damaged link works again once its operator has restored it: a phone need not ask sooner. */
const damagedRetrySeconds = 300;

/** Pause before a client is sent back: 20 of them last longer than a takeover. */
const sendBackMs = 200;

/** Of some kinds of pages. */
interface Details {
  readonly retryAfterSeconds?: number;
  /** Whose code it is. */
  readonly workspaceNo?: number;
}

/** Of an installation that has set nothing. */
const plainPages = () => ({ pages: new Pages({}), rootUrl: '' });

export class Refusals {
  readonly #addresses: ScannerAddresses;
  readonly #throttle: MissThrottle;
  readonly #pages: Pages;
  readonly #rootUrl: string;
  readonly counts = noRefusals();

  /** @param rootUrl where `/` leads; empty = to the page of an unknown code */
  constructor(
    addresses: ScannerAddresses,
    throttle: MissThrottle,
    { pages, rootUrl }: { readonly pages: Pages; readonly rootUrl: string } = plainPages(),
  ) {
    this.#addresses = addresses;
    this.#throttle = throttle;
    this.#pages = pages;
    this.#rootUrl = rootUrl;
  }

  unknown(
    response: HttpResponse,
    request: HttpRequest,
    nowMs: number,
    connection: Connection,
  ): void {
    const path = request.getUrl();
    if (path === '/' && this.#rootUrl !== '') return this.#leadOn(response, request, connection);
    const isCode = codeShaped.test(path);
    if (isCode && this.#throttle.isOver(this.#addresses.of(response, request), nowMs)) {
      const retryAfterSeconds = this.#throttle.retryAfterSeconds(nowMs);
      this.#send('throttled', response, request, connection, { retryAfterSeconds });
    } else {
      this.#send('unknown', response, request, connection);
    }
  }

  /** From `/` to the installation's own page: no scan. */
  #leadOn(response: HttpResponse, request: HttpRequest, connection: Connection): void {
    sendFramed(response, request, () => {
      response.writeStatus(`${redirectHead}\r\nLocation: ${this.#rootUrl}`);
      if (connection === 'closing') response.writeHeader('Connection', 'close');
      response.endWithoutBody(0, connection === 'close');
    });
  }

  /** Of a code that is known, and leads nowhere now. @param workspaceNo whose code it is */
  ended(
    reason: EndedReason,
    workspaceNo: number,
    response: HttpResponse,
    request: HttpRequest,
    connection: Connection,
  ): void {
    this.#send(reason, response, request, connection, { workspaceNo });
  }

  damaged(response: HttpResponse, request: HttpRequest, connection: Connection): void {
    const retryAfterSeconds = damagedRetrySeconds;
    this.#send('damaged', response, request, connection, { retryAfterSeconds });
  }

  /** Not counted: the process that the client comes to counts it. */
  sendBack(response: HttpResponse, request: HttpRequest, connection: Connection): void {
    const query = request.getQuery();
    // Raw, as sent: uWS takes no request line with a control character in it.
    const asked = request.getUrl() + (query === undefined ? '' : `?${query}`);
    let isAborted = false;
    response.onAborted(() => {
      isAborted = true;
    });
    setTimeout(() => {
      if (isAborted) return;
      response.cork(() => {
        response.writeStatus(`${redirectHead}\r\nLocation: ${asked}`);
        if (connection === 'closing') response.writeHeader('Connection', 'close');
        response.endWithoutBody(0, connection !== 'closing');
      });
    }, sendBackMs);
  }

  /** Refuses a request whose framing is ambiguous. @returns whether it was; not counted: no browser sends one */
  misframed(response: HttpResponse, request: HttpRequest, connection: Connection): boolean {
    const fault = framingFault(request);
    if (fault === undefined) return false;
    const { code, message: detail } = fault;
    const problem = { type: 'about:blank', title: 'Bad request', status: 400, detail, code };
    const headers = { 'Cache-Control': 'no-store', 'Content-Type': 'application/problem+json' };
    const isHead = request.getMethod() === 'head';
    const reply = { status: 400, headers, ...(!isHead && { body: JSON.stringify(problem) }) };
    const answer = { isHead, reply, headers: { [noSniffing.name]: noSniffing.value } };
    sendFramed(response, request, () => write(response, answer, connection));
    return true;
  }

  method(response: HttpResponse, request: HttpRequest, connection: Connection): void {
    this.#send('method', response, request, connection);
  }

  #send(
    kind: ErrorPageKind,
    response: HttpResponse,
    request: HttpRequest,
    connection: Connection,
    { retryAfterSeconds, workspaceNo }: Details = {},
  ): void {
    this.counts[kind]++;
    const wantsJson = /\bapplication\/(?:[\w.+-]*\+)?json\b/i.test(request.getHeader('accept'));
    const page = wantsJson
      ? undefined
      : this.#pages.find(kind, workspaceNo, request.getHeader('accept-language'));
    const body = page?.html ?? errorProblem(kind);
    const isHead = request.getMethod() === 'head';
    sendFramed(response, request, (framing) => {
      response.writeStatus(reasons[errorStatus(kind)]!);
      writeHeaders(response, kind, retryAfterSeconds);
      writeContentHeaders(response, page);
      if (connection === 'closing') response.writeHeader('Connection', 'close');
      if (!isHead) response.end(body, connection === 'close');
      else if (framing === 'cut') response.endWithoutBody(0, connection === 'close');
      else endHead(response, Buffer.byteLength(body), connection);
    });
  }
}

function writeHeaders(
  response: HttpResponse,
  kind: ErrorPageKind,
  retryAfterSeconds: number | undefined,
): void {
  response.writeHeader('Cache-Control', 'no-store');
  response.writeHeader('X-Content-Type-Options', 'nosniff');
  response.writeHeader('X-Robots-Tag', 'noindex');
  response.writeHeader('Vary', 'Accept, Accept-Language');
  if (kind === 'method') response.writeHeader('Allow', 'GET, HEAD');
  if (retryAfterSeconds !== undefined) {
    response.writeHeader('Retry-After', String(retryAfterSeconds));
  }
}

/** @param page undefined = the answer is a problem document */
function writeContentHeaders(response: HttpResponse, page: ErrorPage | undefined): void {
  if (page === undefined) {
    response.writeHeader('Content-Type', 'application/problem+json');
    response.writeHeader('Content-Language', 'en');
  } else {
    response.writeHeader('Content-Type', 'text/html; charset=utf-8');
    response.writeHeader('Content-Language', page.language);
    response.writeHeader('Content-Security-Policy', page.policy);
  }
}
