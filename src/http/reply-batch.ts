/**
 * The answers of one event-loop cycle, waiting for the cycle's journal write.
 * A client that leaves before its answer is marked by a handler made once per place, so that a request
 * costs no closure.
 *
 * An answer is handed to uWS in one piece, as its status, which uWS writes as it is: each further call, and each
 * text that uWS has to convert, costs more than all these bytes.
 *
 *   | status line and constant headers | Location: target |       then uWS adds Date, Content-Length and the end
 */
import type { HttpResponse } from 'uWebSockets.js';
import { targetBytesMax } from '../links/layout.ts';
import type { LinkReader } from '../links/reader.ts';
import { withPassedQuery } from '../routes/query-text.ts';
import type { ScanBatch } from '../scans/record.ts';
import type { Connection } from './framing.ts';

/** Status line and constant headers of a redirect. */
export const redirectHead = [
  '302 Found',
  'Cache-Control: private, no-store',
  'X-Content-Type-Options: nosniff',
  'X-Robots-Tag: noindex',
].join('\r\n');
/** With the header that uWS does not write where it closes by itself (framing.ts). */
const closingRedirectHead = `${redirectHead}\r\nConnection: close`;

/** Redirects in one batch; a full one is answered early. epoll hands out at most 1,024 events. */
const repliesMax = 1_024;

const wordBytes = Int32Array.BYTES_PER_ELEMENT;

/** Puts a target behind a head that ends just before a word's boundary, so that it is copied by words. */
class RedirectBytes {
  readonly #words: Int32Array;
  readonly #start: number;
  /** Bytes before the target. */
  readonly headBytes: number;
  /** The bytes of a redirect whose target has n, by n. */
  readonly #views: (Uint8Array | undefined)[] = Array.from<undefined>({
    length: targetBytesMax + 1,
  });

  constructor(head: string) {
    const bytes = Buffer.from(`${head}\r\nLocation: `, 'latin1');
    const headWords = Math.ceil(bytes.length / wordBytes);
    this.#words = new Int32Array(headWords + targetBytesMax / wordBytes);
    this.headBytes = bytes.length;
    this.#start = headWords * wordBytes - bytes.length;
    new Uint8Array(this.#words.buffer).set(bytes, this.#start);
  }

  /** @returns the redirect to an entry's target, valid until the next call */
  of(links: LinkReader, entry: number): Uint8Array {
    const at = (this.#start + this.headBytes) / wordBytes;
    return this.#view(links.copyTarget(entry, this.#words, at));
  }

  /** @returns the redirect to a target of a program, which begins with its bytes' count; valid until the next call */
  ofProgram(words: Int32Array, target: number): Uint8Array {
    const at = (this.#start + this.headBytes) / wordBytes;
    const length = words[target]!;
    const count = (length + 3) >>> 2;
    for (let i = 0; i < count; i += 1) this.#words[at + i] = words[target + 1 + i]!;
    return this.#view(length);
  }

  /** @returns a redirect to another address, printable ASCII; valid until the next call */
  to(address: string): Uint8Array {
    const bytes = this.#view(address.length);
    bytes.set(Buffer.from(address, 'latin1'), this.headBytes);
    return bytes;
  }

  #view(length: number): Uint8Array {
    return (this.#views[length] ??= new Uint8Array(
      this.#words.buffer,
      this.#start,
      this.headBytes + length,
    ));
  }
}

const redirectBytes = new RedirectBytes(redirectHead);
const closingRedirectBytes = new RedirectBytes(closingRedirectHead);
/** @param connection `closing`: with the header that says so */
const bytesFor = (connection: Connection): RedirectBytes =>
  connection === 'closing' ? closingRedirectBytes : redirectBytes;

/** The redirect to a live entry's target, valid until the next call. */
export const redirectTo = (links: LinkReader, entry: number, connection: Connection): Uint8Array =>
  bytesFor(connection).of(links, entry);

/** The redirect to a target of a program, as a copy; `query` is added where it may be. */
export function redirectToProgram(
  words: Int32Array,
  target: number,
  connection: Connection,
  query: string,
): Uint8Array {
  const made = bytesFor(connection);
  const bytes = made.ofProgram(words, target);
  return query === '' ? bytes.slice() : withQuery(made, bytes, query);
}

/** The redirect to an entry's target, as a copy; `query` is added where it may be. */
export function redirectWithQuery(
  links: LinkReader,
  entry: number,
  connection: Connection,
  query: string,
): Uint8Array {
  const made = bytesFor(connection);
  return withQuery(made, made.of(links, entry), query);
}

function withQuery(made: RedirectBytes, bytes: Uint8Array, query: string): Uint8Array {
  const target = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).latin1Slice(
    made.headBytes,
    bytes.length,
  );
  const address = withPassedQuery(target, query);
  return (address.length > targetBytesMax ? bytes : made.to(address)).slice();
}

export class ReplyBatch {
  readonly #links: LinkReader;
  readonly #responses: HttpResponse[] = [];
  readonly #entries: number[] = [];
  readonly #connections: Connection[] = [];
  readonly #records: number[] = [];
  readonly #isLimited: boolean[] = [];
  /** Answers that are not the redirect to their entry's target, or outlive the event-loop cycle; by place. */
  #copies: Uint8Array[] | undefined;
  readonly #aborted = new Uint8Array(repliesMax);
  /** Made when a place is first used: while a disk stalls under `power`, many small batches wait at once. */
  readonly #abortHandlers: (() => void)[] = [];
  #count = 0;
  #current = 0;
  #closes = false;
  readonly #send = (): void => {
    const response = this.#responses[this.#current]!;
    response.writeStatus(this.#bytes(this.#current));
    if (this.#connections[this.#current] === 'close') response.end(undefined, true);
    else response.end();
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
  /** One of the answers ends its connection: not to be sent in an immediate (`inNextCycle`). */
  get closes(): boolean {
    return this.#closes;
  }

  /**
   * @param entry of the link table, valid until the event-loop cycle ends
   * @param record where the scan stands in the cycle's batch
   * @param isLimited it took one of the link's limit
   * @param answer in place of the redirect to the entry's target; kept until it is sent
   */
  add(
    response: HttpResponse,
    entry: number,
    connection: Connection,
    record: number,
    isLimited = false,
    answer?: Uint8Array,
  ): void {
    const place = this.#count++;
    this.#responses[place] = response;
    this.#entries[place] = entry;
    this.#connections[place] = connection;
    this.#records[place] = record;
    this.#isLimited[place] = isLimited;
    if (answer !== undefined) (this.#copies ??= [])[place] = answer;
    if (connection !== 'keep') this.#closes = true;
    this.#aborted[place] = 0;
    response.onAborted((this.#abortHandlers[place] ??= this.#abortHandler(place)));
  }

  /** Removes the scans whose connections have ended, as one does that brings a second request early (framing.ts). */
  removeAborted(scans: ScanBatch): void {
    for (let place = this.#count - 1; place >= 0; place--) {
      if (this.#aborted[place] === 0) continue;
      scans.remove(this.#records[place]!);
      if (this.#isLimited[place] === true) this.#links.returnScan(this.#entries[place]!);
    }
  }

  /** The answers leave after the event-loop cycle: the table may reuse the entries, so copy. */
  keepCopies(): void {
    const copies: Uint8Array[] = [];
    for (let place = 0; place < this.#count; place++) copies.push(this.#bytes(place).slice());
    this.#copies = copies;
  }

  /** Sends all answers and empties the batch. @param closesAll whether every connection ends with its answer */
  answer(closesAll: boolean): void {
    for (let place = 0; place < this.#count; place++) {
      if (this.#aborted[place] === 1) continue;
      if (closesAll && this.#connections[place] === 'keep') this.#connections[place] = 'close';
      this.#current = place;
      this.#responses[place]!.cork(this.#send);
    }
    this.#count = 0;
    this.#closes = false;
    this.#copies = undefined;
  }

  #abortHandler(place: number): () => void {
    return () => {
      this.#aborted[place] = 1;
    };
  }

  #bytes(place: number): Uint8Array {
    return (
      this.#copies?.[place] ??
      redirectTo(this.#links, this.#entries[place]!, this.#connections[place]!)
    );
  }
}
