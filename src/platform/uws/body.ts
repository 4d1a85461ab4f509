/**
 * A request body while it arrives: at most `standardBodyBytesMax`, or as `limit` says. A longer body is discarded.
 *
 * uWS has no body limit and reuses the memory of chunks, so each is copied. A deadline covers each 64 KiB, so dripping
 * bytes do not extend it. While a body is streamed, a client that is faster than the reader is paused.
 *
 * uWS would close silently 8 to 12 s after the headers, the last 160 KB or a pause. `renew` prevents that, so that the 408
 * of this deadline, or the answer, is sent. An early answer waits briefly for the rest of the body (`ended`): when a
 * connection closes with unread bytes, the kernel resets it and the client loses the answer.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { Failure } from '../../model/failure.ts';
import { standardBodyBytesMax } from './request.ts';

/** Unread bytes at which a client is paused, except during `read`. */
const unreadBytesMax = 1_048_576;
const pieceBytes = 65_536;
const discardBytesMax = 1_048_576;

/**
 * Pauses and resumes a client. The idle timer stops during a pause and restarts after it. A client that is resumed without
 * a pause is never read again (measured, 20.0.8).
 */
type Flow = Pick<HttpResponse, 'pause' | 'resume'>;
type BodyState = 'arriving' | 'complete' | 'too_large' | 'aborted';

export class Body {
  #bytesMax = standardBodyBytesMax;
  readonly #declared: number | 'chunked';
  readonly #chunks: Uint8Array[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #flow: Flow;
  #received = 0;
  #unread = 0;
  #isPaused = false;
  #isPausable = true;
  /** Whether uWS's idle timer runs: until the last chunk, or until the answer if that chunk ends a pause. */
  #isTimed = true;
  #state: BodyState = 'arriving';
  #isEnded = false;

  /** @param declared length in the headers: too much is refused before it arrives */
  constructor(declared: number | 'chunked', flow: Flow) {
    this.#declared = declared;
    this.#flow = flow;
    this.#isEnded = declared === 0;
    if (this.#isEnded) this.#state = 'complete';
    else this.limit(standardBodyBytesMax);
  }

  /** Replaces the limit, before bytes arrive. */
  limit(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    if (this.#isEnded) return;
    const isTooLarge = this.#declared !== 'chunked' && this.#declared > bytesMax;
    this.#state = isTooLarge ? 'too_large' : 'arriving';
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get isAborted(): boolean {
    return this.#state === 'aborted';
  }

  push(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    if (this.#state === 'arriving') {
      if (this.#received > this.#bytesMax) {
        this.#state = 'too_large';
        this.#drop();
      } else if (chunk.byteLength > 0) {
        this.#chunks.push(new Uint8Array(chunk.slice(0)));
        this.#unread += chunk.byteLength;
      }
      if (isLast && this.#state === 'arriving') this.#state = 'complete';
    }
    if (isLast) {
      // uWS may deliver data it had read before the pause, and a pause outlives the request: the connection's
      // next request would never be read.
      this.#isTimed = this.#isPaused;
      this.#resume();
      this.#isEnded = true;
    } else if (this.#unread > unreadBytesMax && this.#isPausable) this.#pause();
    this.#notify();
  }

  /** Restarts the idle timer. Call it before the answer ends: uWS refuses it later. */
  renew(): void {
    if (!this.#isTimed || this.#isPaused || this.isAborted) return;
    this.#flow.pause();
    this.#flow.resume();
  }

  onAbort(callback: () => void): void {
    if (this.isAborted) callback();
    else this.#watchers.add(() => (this.isAborted ? callback() : undefined));
  }

  abort(): void {
    this.#state = 'aborted';
    this.#isEnded = true;
    this.#drop();
    this.#notify();
  }

  /** @param timeoutMs for each 64 KiB @throws Failure body_too_large; request_timeout, also when the client has gone */
  async read(timeoutMs: number): Promise<Uint8Array> {
    this.#isPausable = false;
    this.#resume();
    while (this.#state === 'arriving') {
      const next = this.#received + pieceBytes;
      const isReady = (): boolean => this.#state !== 'arriving' || this.#received >= next;
      await this.#until(isReady, timeoutMs);
      if (!isReady()) throw this.#failure(timeoutMs);
    }
    if (this.#state === 'complete') return join(this.#chunks);
    throw this.#failure(timeoutMs);
  }

  async *chunks(timeoutMs: number): AsyncGenerator<Uint8Array> {
    for (;;) {
      const isReady = (): boolean => this.#state !== 'arriving' || this.#unread >= pieceBytes;
      await this.#until(isReady, timeoutMs);
      if (!isReady() || this.#state === 'too_large' || this.#state === 'aborted') {
        throw this.#failure(timeoutMs);
      }
      if (this.#unread > 0) {
        const piece = join(this.#chunks);
        this.#drop();
        yield piece;
        this.#resume();
      } else if (this.#state === 'complete') {
        return;
      }
    }
  }

  #failure(timeoutMs: number): Failure {
    return this.#state === 'too_large'
      ? new Failure(
          'body_too_large',
          `Cannot read the body: it is larger than ${this.#bytesMax} bytes`,
        )
      : new Failure(
          'request_timeout',
          `Cannot read the body: it did not arrive in time, expected all of it or 64 KiB within ${timeoutMs / 1_000} s`,
        );
  }

  #drop(): void {
    this.#chunks.length = 0;
    this.#unread = 0;
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#flow.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // uWS refuses calls on a response that has ended.
    if (!this.#isEnded) this.#flow.resume();
  }

  /** Resolves at the end of the body, or `lingerMs` or 1 MiB later. */
  async ended(lingerMs: number): Promise<void> {
    this.#isPausable = false;
    this.#drop();
    this.#resume();
    const before = this.#received;
    await this.#until(() => this.#isEnded || this.#received - before > discardBytesMax, lingerMs);
  }

  async #until(isDone: () => boolean, timeoutMs: number): Promise<void> {
    if (isDone()) return;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(watch);
        resolve();
      };
      const watch = (): void => {
        if (isDone()) finish();
      };
      const timer = setTimeout(finish, timeoutMs);
      this.#watchers.add(watch);
    });
  }

  #notify(): void {
    for (const watch of this.#watchers) watch();
  }
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}
