/**
 * The hot path: from a request for a short code to its 302.
 *
 *   resolve   the link in shared memory, no lock, no allocation
 *   record    the scan in the cycle's batch
 *   journal   one write at the end of the event-loop cycle
 *   answer    all requests of the cycle
 *
 * So an answered scan is a journaled scan, and each request pays its share of one system call. With `power` the answers
 * wait for a sync on another thread, while further cycles run. Nothing here awaits, logs or parses a schema.
 */
import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import type { Config } from '../../platform/config/config.ts';
import type { LinkReader } from '../links/reader.ts';
import type { Clock } from '../../model/clock.ts';
import { partitionOf } from '../../model/code.ts';
import type { EndedReason } from '../../model/routing/pages.ts';
import type { JournalWriter } from '../journal/writer.ts';
import { flagPrefetch, ScanBatch } from '../journal/record.ts';
import { Agents } from '../visitor/agents.ts';
import type { Geo } from '../visitor/geo/geo.ts';
import { ConditionalLink, isPrefetch } from './conditional-link.ts';
import type { LatencyHistogram } from '../../platform/latency-histogram.ts';
import {
  type Connection,
  connectionAfter,
  inNextCycle,
  sendFramed,
} from '../../platform/uws/framing.ts';
import { headerNames } from '../../platform/uws/uws-app.ts';
import type { Refusals } from './refusals.ts';
import type { ScannerAddresses } from './scanner-address.ts';
import { redirectTo, ReplyBatch } from './reply-batch.ts';

export interface RedirectOptions {
  readonly links: LinkReader;
  readonly geo: Geo;
  readonly journal: JournalWriter;
  readonly durability: Config['durability'];
  readonly addresses: ScannerAddresses;
  readonly refusals: Refusals;
  readonly clock: Clock;
  /** Microseconds from the cycle's first request to its last answer, once per redirect. */
  readonly latency: LatencyHistogram;
}

/** Reply batches for reuse with `power`: about as many as one sync answers. */
const spareRepliesMax = 64;
const microseconds = 1_000;

export class Redirect {
  readonly #options: RedirectOptions;
  readonly #conditional: ConditionalLink;
  readonly #batch = new ScanBatch();
  readonly #spareReplies: ReplyBatch[] = [];
  #replies: ReplyBatch;
  #isCycleOpen = false;
  #cycleTimeMs = 0;
  #cycleStartMs = 0;
  /** Whether answers close their connections, because the thread is about to stop. */
  isDraining = false;
  /** Another process has the scans: clients are sent to it. */
  isHandedOver = false;
  redirects = 0;

  constructor(options: RedirectOptions) {
    this.#options = options;
    this.#conditional = new ConditionalLink({ ...options, agents: new Agents() });
    this.#replies = new ReplyBatch(options.links);
  }

  attach(app: TemplatedApp): void {
    const { refusals } = this.#options;
    app.get('/*', this.#framed(this.#get));
    app.head('/*', this.#framed(this.#head));
    app.any('/*', this.#framed(refusals.method.bind(refusals)));
  }

  /** uWS ends the process when a handler throws and leaves a request open: so the request is closed first. */
  #framed(handle: Handle): (response: HttpResponse, request: HttpRequest) => void {
    return (response, request) => {
      try {
        const connection = connectionAfter(request, this.isDraining);
        const isOdd = connection !== 'keep';
        if (isOdd && this.#options.refusals.misframed(response, request, connection)) return;
        if (this.isHandedOver)
          return this.#options.refusals.sendBack(response, request, connection);
        handle(response, request, connection);
      } catch (error) {
        setImmediate(() => {
          throw error;
        });
        response.close();
      }
    };
  }

  readonly #get: Handle = (response, request, connection) => {
    if (!this.#isCycleOpen) this.#beginCycle(connection);
    // Before this request is added: an answer inside its handler would leave its connection open (framing.ts).
    else if (this.#replies.isFull || this.#batch.isFull) this.#flush();
    const { links, addresses, refusals } = this.#options;
    const link = findLink(links, request.getUrl());
    if (link === 0) return refusals.unknown(response, request, this.#cycleTimeMs, connection);
    if (!links.isPlain(link)) return this.#getConditional(link, response, request, connection);
    const flags = isPrefetch(request) ? flagPrefetch : 0;
    const agent = request.getHeader(headerNames.userAgent);
    const record = this.#record(link, flags, addresses.of(response, request), agent, request);
    this.#replies.add(response, link, connection, record);
  };

  #getConditional(
    link: number,
    response: HttpResponse,
    request: HttpRequest,
    connection: Connection,
  ): void {
    const conditional = this.#conditional;
    conditional.decide('scan', link, response, request, connection, this.#cycleTimeMs);
    const { ended, answer, isRecorded, flags, address, agent, isLimited } = conditional;
    const record = isRecorded ? this.#record(link, flags, address, agent, request) : 0;
    if (answer === undefined && ended !== undefined) {
      this.#refuse(ended, link, response, request, connection);
    } else this.#replies.add(response, link, connection, record, isLimited, answer);
  }

  #record(
    link: number,
    flags: number,
    address: Uint8Array,
    agent: string,
    request: HttpRequest,
  ): number {
    const { links } = this.#options;
    const codeNo = links.codeNo(link);
    const workspaceNo = links.workspaceNo(link);
    const referer = request.getHeader(headerNames.referer);
    const batch = this.#batch;
    return batch.add(partitionOf(codeNo), codeNo, workspaceNo, flags, address, agent, referer);
  }

  readonly #head: Handle = (response, request, connection) => {
    if (!this.#isCycleOpen) this.#beginCycle(connection);
    const { links, refusals } = this.#options;
    const link = findLink(links, request.getUrl());
    if (link === 0) return refusals.unknown(response, request, this.#cycleTimeMs, connection);
    const bytes = links.isPlain(link)
      ? // A copy, because an answer may wait for the next cycle and outlive the table's entry.
        redirectTo(links, link, connection).slice()
      : this.#headConditional(link, response, request, connection);
    if (bytes === undefined) return;
    sendFramed(response, request, () => {
      response.writeStatus(bytes);
      response.endWithoutBody(0, connection === 'close');
    });
  };

  /** A copy of the answer; undefined after a page was sent. */
  #headConditional(
    link: number,
    response: HttpResponse,
    request: HttpRequest,
    connection: Connection,
  ): Uint8Array | undefined {
    const { links } = this.#options;
    this.#conditional.decide('look', link, response, request, connection, this.#cycleTimeMs);
    const { ended, answer } = this.#conditional;
    if (answer !== undefined) return answer;
    if (ended === undefined) return redirectTo(links, link, connection).slice();
    this.#refuse(ended, link, response, request, connection);
    return undefined;
  }

  #beginCycle(connection: Connection): void {
    const { links, clock } = this.#options;
    this.#isCycleOpen = true;
    this.#cycleTimeMs = clock.now();
    this.#cycleStartMs = clock.monotonicMs();
    links.enter();
    if (connection === 'keep') setImmediate(this.#endCycleKeeping);
    // Directly: an immediate before it would cost a lone scan 3 µs.
    else inNextCycle(this.#endCycle);
  }

  /** Runs in an immediate, which must not close a connection. */
  readonly #endCycleKeeping = (): void => {
    if (this.isDraining || this.#replies.closes) inNextCycle(this.#endCycle);
    else this.#endCycle();
  };

  readonly #endCycle = (): void => {
    // A page is sent at once, and its visit may still be recorded.
    if (this.#replies.count > 0 || this.#batch.scans > 0) this.#flush();
    this.#options.links.leave();
    this.#isCycleOpen = false;
  };

  #flush(): void {
    const { journal, durability } = this.#options;
    const replies = this.#replies;
    replies.removeAborted(this.#batch);
    const scans = this.#batch.scans;
    if (scans === 0) return this.#answer(replies, this.#cycleStartMs);
    const frame = this.#batch.finish(this.#cycleTimeMs);
    if (durability === 'power') {
      const startMs = this.#cycleStartMs;
      replies.keepCopies();
      this.#replies = this.#spareReplies.pop() ?? new ReplyBatch(this.#options.links);
      journal.append(frame, scans);
      const answer = (): void => {
        this.#answer(replies, startMs);
        if (this.#spareReplies.length < spareRepliesMax) this.#spareReplies.push(replies);
      };
      // Also after a failure, which the journal reports.
      journal.sync().then(answer, answer);
      return;
    }
    journal.append(frame, scans);
    this.#answer(replies, this.#cycleStartMs);
  }

  #answer(replies: ReplyBatch, startMs: number): void {
    const { clock, latency } = this.#options;
    const count = replies.count;
    replies.answer(this.isDraining);
    this.redirects += count;
    const spent = Math.round((clock.monotonicMs() - startMs) * microseconds);
    latency.recordValueWithCount(Math.min(spent, latency.highestTrackableValue), count);
  }

  #refuse(
    ended: EndedReason | 'damaged',
    link: number,
    response: HttpResponse,
    request: HttpRequest,
    connection: Connection,
  ): void {
    const { links, refusals } = this.#options;
    if (ended === 'damaged') refusals.damaged(response, request, connection);
    else refusals.ended(ended, links.workspaceNo(link), response, request, connection);
  }
}

const encoded = /%[0-9A-Fa-f]{2}/g;
const ofCode = /^[A-Za-z0-9_-]$/;
/** A slash and 64 encoded letters. Decoding 8 KB would cost 0.3 ms. */
const encodedLengthMax = 193;

/** Decodes what RFC 3986 (6.2.2.2) makes the same path: an encoded slash is no slash, and `%2541` is not `%41`. */
function decodedPath(path: string): string {
  if (path.length > encodedLengthMax) return path;
  return path.replace(encoded, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return ofCode.test(character) ? character : code;
  });
}

function findLink(links: LinkReader, path: string): number {
  const link = links.find(path, 1);
  return link !== 0 || !path.includes('%') ? link : links.find(decodedPath(path), 1);
}

type Handle = (response: HttpResponse, request: HttpRequest, connection: Connection) => void;
