/**
 * A request body while it arrives: counted chunk by chunk, kept up to `bytesMax`, then discarded.
 *
 * uWS has no body limit of its own and hands out chunks whose memory it takes back, so each is copied.
 * One deadline covers the whole body: a client that drips bytes does not extend it.
 * An answer that is ready before the body has ended waits for the rest for a moment (`ended`), because
 * closing with unread bytes makes the kernel reset the connection and the client lose the answer.
 */
import { Failure } from '../model/failure.ts';

/** Bytes thrown away after an early answer before the connection is closed: 1 MiB. */
const discardBytesMax = 1_048_576;

type BodyState = 'arriving' | 'complete' | 'too_large' | 'aborted';

export class Body {
  readonly #bytesMax: number;
  readonly #chunks: Uint8Array[] = [];
  readonly #watchers = new Set<() => void>();
  #received = 0;
  #state: BodyState = 'arriving';
  #isEnded = false;

  /** @param declared what the headers promise: too much is refused before it comes */
  constructor(bytesMax: number, declared: number | 'chunked') {
    this.#bytesMax = bytesMax;
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
        this.#chunks.length = 0;
      } else if (chunk.byteLength > 0) {
        this.#chunks.push(new Uint8Array(chunk.slice(0)));
      }
      if (isLast && this.#state === 'arriving') this.#state = 'complete';
    }
    if (isLast) this.#isEnded = true;
    this.#notify();
  }

  abort(): void {
    this.#state = 'aborted';
    this.#isEnded = true;
    this.#chunks.length = 0;
    this.#notify();
  }

  /**
   * The whole body.
   * @throws Failure body_too_large as soon as that is known; request_timeout when it has not arrived
   *   after `timeoutMs`, or never will
   */
  async read(timeoutMs: number): Promise<Uint8Array> {
    await this.#until(() => this.#state !== 'arriving', timeoutMs);
    if (this.#state === 'complete') return join(this.#chunks);
    if (this.#state === 'too_large') {
      throw new Failure(
        'body_too_large',
        `Cannot read the body: it is larger than ${this.#bytesMax} bytes`,
      );
    }
    throw new Failure('request_timeout', 'Cannot read the body: it did not arrive in time');
  }

  /** Resolves when nothing more comes, or `lingerMs` or 1 MiB later. */
  async ended(lingerMs: number): Promise<void> {
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
