/**
 * All answers of the short-link port except redirects of links: the pages of `pages.ts`, as HTML or, for `Accept`, as JSON.
 * Counts them by kind, and throttles unknown codes by address. `/` redirects to `redirect.rootUrl`.
 *
 * At the end of a takeover a link redirects to itself: on a new connection its client reaches the process that has taken over.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { EndedReason } from '../../model/routing/pages.ts';
import { type Connection, framingFault, sendFramed } from '../../platform/uws/framing.ts';
import type { MissThrottle } from './miss-throttle.ts';
import {
  type ErrorPage,
  type ErrorPageKind,
  errorProblem,
  errorStatus,
  type Pages,
} from './pages.ts';
import { noRefusals } from './redirect-thread.ts';
import { redirectHead } from './reply-batch.ts';
import type { ScannerAddresses } from './scanner-address.ts';
import { noSniffing, write } from '../../platform/uws/write.ts';

/** Other paths (favicon.ico, …) cannot be used to guess codes. An encoded letter takes three characters. */
const codeShaped = /^\/[A-Za-z0-9_/%-]{3,192}$/;

/** An operator has to restore a damaged link first. */
const damagedRetrySeconds = 300;

interface Details {
  readonly retryAfterSeconds?: number;
  readonly workspaceNo?: number;
}

export class Refusals {
  readonly #addresses: ScannerAddresses;
  readonly #throttle: MissThrottle;
  readonly #pages: Pages;
  readonly #rootUrl: string;
  readonly counts = noRefusals();

  constructor(
    addresses: ScannerAddresses,
    throttle: MissThrottle,
    { pages, rootUrl }: { readonly pages: Pages; readonly rootUrl: string },
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
    if (path === '/' && this.#rootUrl !== '') {
      return sendFramed(response, request, () => redirect(response, this.#rootUrl, connection));
    }
    const isCode = codeShaped.test(path);
    if (isCode && this.#throttle.isOver(this.#addresses.of(response, request), nowMs)) {
      const retryAfterSeconds = this.#throttle.retryAfterSeconds(nowMs);
      this.#send('throttled', response, request, connection, { retryAfterSeconds });
    } else {
      this.#send('unknown', response, request, connection);
    }
  }

  /** The answer of a known code that does not redirect now. @param workspaceNo the code's workspace */
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

  /** For another process, which a new connection reaches. Not counted here. */
  sendBack(response: HttpResponse, request: HttpRequest, connection: Connection): void {
    const query = request.getQuery();
    // Raw, as sent: uWS refuses control characters in a request line. `//host/` would lead to another host.
    const path = request.getUrl().replace(/^[/\\]+/, '/');
    const asked = path + (query === undefined ? '' : `?${query}`);
    const end = connection === 'closing' ? connection : 'close';
    sendFramed(response, request, () => redirect(response, asked, end));
  }

  /** Refuses ambiguous framing, without a count: browsers never send it. @returns whether it refused */
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
    const headers = {
      'Cache-Control': 'no-store',
      [noSniffing.name]: noSniffing.value,
      'X-Robots-Tag': 'noindex',
      Vary: 'Accept, Accept-Language',
      ...(kind === 'method' && { Allow: 'GET, HEAD' }),
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
      ...(page === undefined ? problemHeaders : pageHeaders(page)),
    };
    const isHead = request.getMethod() === 'head';
    sendFramed(response, request, (framing) => {
      // With a length for HEAD, uWS does not close.
      const isBare = isHead && framing === 'cut';
      const reply = { status: errorStatus(kind), headers, ...(!isBare && { body }) };
      write(response, { isHead, reply, headers: {} }, connection);
    });
  }
}

function redirect(response: HttpResponse, location: string, connection: Connection): void {
  response.writeStatus(`${redirectHead}\r\nLocation: ${location}`);
  if (connection === 'closing') response.writeHeader('Connection', 'close');
  response.endWithoutBody(0, connection === 'close');
}

const problemHeaders = { 'Content-Type': 'application/problem+json', 'Content-Language': 'en' };

const pageHeaders = ({ language, policy }: ErrorPage) => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Language': language,
  'Content-Security-Policy': policy,
});
