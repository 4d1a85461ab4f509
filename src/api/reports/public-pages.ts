/**
 * What people without an account open on the management address:
 *
 *   GET  /r/<token>            the page of a shared report; `?range=7d|30d|90d|all`, another is 400
 *   GET  /unsubscribe/<token>  a page with a button: programs that open every link of a mail end nothing
 *   POST /unsubscribe/<token>  ends the digest; what a mail program sends by its own button (RFC 8058)
 *
 * A token that is unknown, revoked or over gets the same page. It counts against the caller's address in the bucket of
 * callers without a key, so that guessing is slow. A link that works counts against the address in another bucket, large
 * enough for an office behind one address, and never against the quota of its workspace.
 */
import { isRead, type Reply, type Request } from '../../platform/uws/request.ts';
import { addressGroup } from '../../model/address.ts';
import type { Clock } from '../../model/clock.ts';
import type { Digests } from '../../product/reports/digests/digests.ts';
import { type FramedPage, noticePage } from '../../product/reports/page/frame.ts';
import { reportRanges } from '../../model/reports/report.ts';
import type { ReportPages } from '../../product/reports/report-pages.ts';
import { MemoryQuota } from '../../product/workspaces/memory-quota.ts';
import type { QuotaAnswer } from '../../product/workspaces/window-count.ts';
import { withRate } from '../kernel/guard.ts';

const reportPrefix = '/r/';
const unsubscribePrefix = '/unsubscribe/';
/** Paths below these are no other page's. */
export const publicPrefixes = [reportPrefix, unsubscribePrefix];
/** Opened links of one address: two a second. */
const openedLimits = { perMinute: 120, perDay: undefined };

const unknown = noticePage(
  'This link does not work',
  'It is incomplete, expired or revoked. Ask the sender for a new one.',
);
const noRange = noticePage(
  'This range is not available',
  `Use one of these ranges: ${reportRanges.join(', ')}.`,
);
const throttled = noticePage('Too many requests', 'Please try again in a minute.');
const ended = noticePage('You are unsubscribed', 'You get no more of these mails.');
const question = noticePage(
  'Unsubscribe?',
  'You then get no more reports of this workspace by mail. You can subscribe again in your profile.',
  { more: '<form method="post"><button>Unsubscribe</button></form>' },
);

export interface PublicPagesOptions {
  readonly reports: {
    readonly pages: Pick<ReportPages, 'find'>;
    readonly digests: Pick<Digests, 'isToken' | 'unsubscribe'>;
  };
  readonly workspaces: { readonly ipQuota: MemoryQuota };
  readonly clock: Clock;
}

export class PublicPages {
  readonly #options: PublicPagesOptions;
  readonly #opened: MemoryQuota;

  constructor(options: PublicPagesOptions) {
    this.#options = options;
    this.#opened = new MemoryQuota(options.clock, openedLimits, addressGroup);
  }

  /** Undefined for a path or a method without a page. @throws Failure overloaded, storage_full */
  find(request: Request): (() => Promise<Reply>) | undefined {
    const { method, path } = request;
    const reads = isRead(request);
    if (path.startsWith(reportPrefix)) {
      return reads ? async () => await this.#report(request) : undefined;
    }
    if (!path.startsWith(unsubscribePrefix) || !(reads || method === 'POST')) return undefined;
    return async () => await this.#unsubscribe(request);
  }

  async #report(request: Request): Promise<Reply> {
    const token = request.path.slice(reportPrefix.length);
    const asked = new URLSearchParams(request.query).get('range');
    const range = reportRanges.find((one) => one === asked);
    // Before the token is read, so that the answer tests no guess.
    if (asked !== null && range === undefined) return this.#known(request, noRange, 400);
    const rate = this.#opened.peek(request.clientAddress);
    if (!rate.allowed) return send(429, throttled, rate);
    const page = await this.#options.reports.pages.find(token, range);
    return page === undefined ? this.#missed(request) : this.#known(request, page);
  }

  async #unsubscribe(request: Request): Promise<Reply> {
    const { digests } = this.#options.reports;
    const token = request.path.slice(unsubscribePrefix.length);
    if (request.method !== 'POST') {
      return digests.isToken(token) ? this.#known(request, question) : this.#missed(request);
    }
    // A mail program may send it twice: the second time also succeeds.
    const isEnded = await digests.unsubscribe(token);
    return isEnded ? this.#known(request, ended) : this.#missed(request, 200, ended);
  }

  #known(request: Request, page: FramedPage, status = 200): Reply {
    const rate = this.#opened.take(request.clientAddress);
    return rate.allowed ? send(status, page, rate) : send(429, throttled, rate);
  }

  #missed(request: Request, status = 404, page = unknown): Reply {
    const rate = this.#options.workspaces.ipQuota.take(request.clientAddress);
    return rate.allowed ? send(status, page, rate) : send(429, throttled, rate);
  }
}

function send(status: number, { html, headers }: FramedPage, rate: QuotaAnswer): Reply {
  const { retryAfterSeconds } = rate;
  const retry =
    status === 429 && retryAfterSeconds !== undefined
      ? { 'Retry-After': String(retryAfterSeconds) }
      : {};
  return withRate({ status, headers: { ...headers, ...retry }, body: html }, rate);
}
