/**
 * The answers of one event-loop cycle, which wait for the cycle's journal write. Abort handlers are made once per place,
 * so a request costs no closure.
 *
 * uWS gets an answer in one piece, as its status, which it writes unchanged: each further call costs more than all these
 * bytes.
 *
 *   | status line and constant headers | Location: target |       uWS adds Date, Content-Length and the end
 */
import type { HttpResponse } from 'uWebSockets.js';
import { targetBytesMax } from '../links/layout.ts';
import type { LinkReader } from '../links/reader.ts';
import { withPassedQuery } from '../routes/query-text.ts';
import type { ScanBatch } from '../journal/record.ts';
import type { Connection } from '../../platform/uws/framing.ts';

export const redirectHead = [
  '302 Found',
  'Cache-Control: private, no-store',
  'X-Content-Type-Options: nosniff',
  'X-Robots-Tag: noindex',
].join('\r\n');
/** uWS does not write this header when it closes by itself (platform/uws/framing.ts). */
const closingRedirectHead = `${redirectHead}\r\nConnection: close`;

/** A full batch is answered early. epoll returns at most 1,024 events. */
const repliesMax = 1_024;

const wordBytes = Int32Array.BYTES_PER_ELEMENT;

/** A head that ends at a word's boundary, so that the target after it is copied by words. */
class RedirectBytes {
  readonly #words: Int32Array;
  readonly #start: number;
  readonly headBytes: number;
  /** Views of complete redirects, by the length of the target. */
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

  of(links: LinkReader, entry: number): Uint8Array {
    const at = (this.#start + this.headBytes) / wordBytes;
    return this.#view(links.copyTarget(entry, this.#words, at));
  }

  /** @returns the redirect to a target of a program, valid until the next call @param target index of its length */
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
const bytesFor = (connection: Connection): RedirectBytes =>
  connection === 'closing' ? closingRedirectBytes : redirectBytes;

/** The redirect to a live entry's target, valid until the next call. */
export const redirectTo = (links: LinkReader, entry: number, connection: Connection): Uint8Array =>
  bytesFor(connection).of(links, entry);

/** A copy of the redirect to a target of a program, with `query` passed on. */
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
  /** By place: answers that are not the redirect to their entry's target, or that outlive the cycle. */
  #copies: Uint8Array[] | undefined;
  readonly #aborted = new Uint8Array(repliesMax);
  /** Made on first use: while a disk stalls under `power`, many small batches wait at once. */
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
  /** Whether an answer ends its connection, which must not happen in an immediate (`inNextCycle`). */
  get closes(): boolean {
    return this.#closes;
  }

  /**
   * @param entry of the link table, valid until the cycle ends @param record offset of the scan in the cycle's batch
   * @param isLimited whether the scan was taken from the link's limit @param answer replaces the redirect to the target
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

  /** Removes scans whose connections have ended, for example by a second request that came early (platform/uws/framing.ts). */
  removeAborted(scans: ScanBatch): void {
    for (let place = this.#count - 1; place >= 0; place--) {
      if (this.#aborted[place] === 0) continue;
      scans.remove(this.#records[place]!);
      if (this.#isLimited[place] === true) this.#links.returnScan(this.#entries[place]!);
    }
  }

  /** Call it when the answers outlive the event-loop cycle, after which the table may reuse the entries. */
  keepCopies(): void {
    const copies: Uint8Array[] = [];
    for (let place = 0; place < this.#count; place++) copies.push(this.#bytes(place).slice());
    this.#copies = copies;
  }

  /** Sends all answers and empties the batch. @param closesAll ends every connection */
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
