/**
 * Who may ask a core about its cluster, and to do something: a holder of `cluster.secret`, such as the commands of its
 * machine. One header, believed for 30 s:
 *
 *   Authorization: Quietzone <unix seconds>.<base64url HMAC-SHA256 of "seconds\nmethod\npath">
 *
 * The path is with its query: that says who is meant.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request } from '../../http/request.ts';
import type { Clock } from '../../model/clock.ts';

/** Clocks of machines differ by a second or two. */
const believedMs = 30_000;
const headerPattern = /^Quietzone (\d{1,12})\.([A-Za-z0-9_-]{43})$/;

export class ControlProof {
  readonly #key: Uint8Array;
  readonly #clock: Pick<Clock, 'now'>;

  /** @param key the same on all cores, and known to nobody else */
  constructor(key: Uint8Array, clock: Pick<Clock, 'now'>) {
    this.#key = key;
    this.#clock = clock;
  }

  /** The Authorization header. @param path with its query */
  headerOf(method: string, path: string): string {
    const seconds = String(Math.floor(this.#clock.now() / 1_000));
    return `Quietzone ${seconds}.${this.#digest(seconds, method, path).toString('base64url')}`;
  }

  /** In the same time for each wrong digest. */
  isRight(request: Pick<Request, 'method' | 'path' | 'query' | 'header'>): boolean {
    const { method, path, query } = request;
    const [, seconds, digest] = headerPattern.exec(request.header('authorization') ?? '') ?? [];
    if (seconds === undefined || digest === undefined) return false;
    const target = query === '' ? path : `${path}?${query}`;
    const expected = this.#digest(seconds, method, target);
    if (!timingSafeEqual(Buffer.from(digest, 'base64url'), expected)) return false;
    return Math.abs(this.#clock.now() - Number(seconds) * 1_000) <= believedMs;
  }

  #digest(seconds: string, method: string, path: string): Buffer {
    return createHmac('sha256', this.#key).update(`${seconds}\n${method}\n${path}`).digest();
  }
}
