/**
 * The answers of one event-loop cycle, waiting for the cycle's journal write.
 * A client that leaves before its answer is marked by a handler made once per place, so that a request
 * costs no closure.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { LinkReader } from '../links/reader.ts';
import { type Connection, inNextCycle } from './framing.ts';

/**
 * Status line and constant headers of a redirect. uWS writes a status as it is, so one call does for all of
 * them: another `writeHeader` costs more than all their bytes.
 */
export const redirectHead = [
  '302 Found',
  'Cache-Control: private, no-store',
  'X-Content-Type-Options: nosniff',
  'X-Robots-Tag: noindex',
].join('\r\n');
/** With the header that uWS does not write where it closes by itself (framing.ts). */
export const closingRedirectHead = `${redirectHead}\r\nConnection: close`;

/** Redirects in one batch; a full one is answered early. epoll hands out at most 1,024 events. */
const repliesMax = 1_024;

export class ReplyBatch {
  readonly #links: LinkReader;
  readonly #responses: HttpResponse[] = [];
  readonly #entries: number[] = [];
  readonly #connections: Connection[] = [];
  /** Copies of the locations, where the answers outlive the event-loop cycle. */
  #locations: Uint8Array[] | undefined;
  readonly #aborted = new Uint8Array(repliesMax);
  /** Made when a place is first used: while a disk stalls under `power`, many small batches wait at once. */
  readonly #abortHandlers: (() => void)[] = [];
  #count = 0;
  #current = 0;
  readonly #send = (): void => {
    const response = this.#responses[this.#current]!;
    response.writeStatus(redirectHead);
    response.writeHeader('Location', this.#location(this.#current));
    response.end();
  };

  constructor(links: LinkReader) {
    this.#links = links;
  }

  get count(): number {
    return this.#count;
  }
  get isFull(): boolean {
    return this.#count === repliesMax;
  }

  /** @param entry of the link table, valid until the event-loop cycle ends */
  add(response: HttpResponse, entry: number, connection: Connection): void {
    const place = this.#count++;
    this.#responses[place] = response;
    this.#entries[place] = entry;
    this.#connections[place] = connection;
    this.#aborted[place] = 0;
    response.onAborted((this.#abortHandlers[place] ??= this.#abortHandler(place)));
  }

  /** The answers leave after the event-loop cycle: the table may reuse the entries, so copy. */
  keepLocations(): void {
    this.#locations = this.#entries
      .slice(0, this.#count)
      .map((entry) => this.#links.location(entry).slice());
  }

  /** Sends all answers and empties the batch. */
  answer(closes: boolean): void {
    for (let place = 0; place < this.#count; place++) {
      if (this.#aborted[place] === 1) continue;
      if (closes || this.#connections[place] !== 'keep') {
        this.#answerLast(place);
        continue;
      }
      this.#current = place;
      this.#responses[place]!.cork(this.#send);
    }
    this.#count = 0;
    this.#locations = undefined;
  }

  /** The last answer of its connection waits for the next cycle, longer than this batch. */
  #answerLast(place: number): void {
    const response = this.#responses[place]!;
    const closesItself = this.#connections[place] === 'closing';
    const location = this.#location(place).slice();
    let isAborted = false;
    response.onAborted(() => {
      isAborted = true;
    });
    inNextCycle(() => {
      if (isAborted) return;
      response.cork(() => {
        response.writeStatus(closesItself ? closingRedirectHead : redirectHead);
        response.writeHeader('Location', location);
        response.end(undefined, !closesItself);
      });
    });
  }

  #abortHandler(place: number): () => void {
    return () => {
      this.#aborted[place] = 1;
    };
  }

  #location(place: number): Uint8Array {
    return this.#locations?.[place] ?? this.#links.location(this.#entries[place]!);
  }
}
