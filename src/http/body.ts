/**
 * A request body while it arrives: counted chunk by chunk, kept up to `bytesMax`, then discarded.
 *
 * uWS has no body limit of its own and hands out chunks whose memory it takes back, so each is copied.
 * One deadline covers each 64 KiB, which for most bodies is the whole: a client that drips bytes does not
 * extend it. uWS would cut off silently, 8 to 12 s after the headers or after the last 160 KB; `renew` puts that
 * off, so that the deadline here decides and its 408 can be sent.
 * Streamed (`chunks`), a client that is faster than its reader is paused at 1 MiB.
 * An answer that is ready before the body has ended waits for the rest for a moment (`ended`), because
 * closing with unread bytes makes the kernel reset the connection and the client lose the answer.
 */
import { Failure } from '../model/failure.ts';

/** Unread bytes above which the client is paused, unless the whole body was asked for. */
const unreadBytesMax = 1_048_576;
/** A piece of a body; one that takes longer than the deadline ends the request. */
const pieceBytes = 65_536;
/** Bytes thrown away after an early answer before the connection is closed: 1 MiB. */
const discardBytesMax = 1_048_576;

type BodyState = 'arriving' | 'complete' | 'too_large' | 'aborted';

/**
 * Pauses and resumes a client; uWS's response does. Its idle timer stands while it is paused and starts anew after;
 * a client that is resumed without having been paused is never read again (measured, 20.0.8).
 */
export interface Flow {
  pause(): void;
  resume(): void;
}

export class Body {
  readonly #bytesMax: number;
  readonly #chunks: Uint8Array[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #flow: Flow | undefined;
  #received = 0;
  /** Bytes in `#chunks`. */
  #unread = 0;
  #isPaused = false;
  #isWholeWanted = false;
  #state: BodyState = 'arriving';
  #isEnded = false;

  /** @param declared what the headers promise: too much is refused before it comes */
  constructor(bytesMax: number, declared: number | 'chunked', flow?: Flow) {
    this.#bytesMax = bytesMax;
    this.#flow = flow;
    if (declared === 0) {
      this.#state = 'complete';
      this.#isEnded = true;
    } else if (declared !== 'chunked' && declared > bytesMax) {
      this.#state = 'too_large';
    }
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get isAborted(): boolean {
    return this.#state === 'aborted';
  }

  /** Takes a chunk; its memory may be reused by the caller afterwards. */
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
      // uWS may deliver what it had read although it was paused, and a pause outlives the request: left so,
      // the connection's next request is never read.
      this.#resume();
      this.#isEnded = true;
    } else if (this.#unread > unreadBytesMax && !this.#isWholeWanted) this.#pause();
    this.#notify();
  }

  /** Starts uWS's idle timer anew. */
  renew(): void {
    if (this.#isPaused || this.#isEnded) return;
    this.#flow?.pause();
    this.#flow?.resume();
  }

  /** Calls back once, when the client goes; at once if it has. */
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

  /**
   * The whole body.
   * @param timeoutMs the time for each 64 KiB
   * @throws Failure body_too_large as soon as that is known; request_timeout when a piece has not arrived
   *   in time, or never will
   */
  async read(timeoutMs: number): Promise<Uint8Array> {
    this.#isWholeWanted = true;
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

  /**
   * The body in pieces, as they come.
   * @throws Failure as `read`
   */
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
    this.#flow?.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // A response that was aborted or has ended is gone for uWS.
    if (!this.#isEnded) this.#flow?.resume();
  }

  /** Resolves when nothing more comes, or `lingerMs` or 1 MiB later. */
  async ended(lingerMs: number): Promise<void> {
    this.#isWholeWanted = true;
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
