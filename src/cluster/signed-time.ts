/**
 * A moment, and fields that belong to it, signed by a holder of a key: what shows that a request comes from a machine of the
 * cluster.
 *
 *   <unix seconds>.<base64url HMAC-SHA256 of "seconds\nfield\nfield…">
 *
 * It is believed for 30 s, so that what somebody has recorded soon shows nothing. Fields have no line breaks.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../model/clock.ts';

/** Clocks of machines differ by a second or two; a body may still be to come when this is read. */
export const believedMs = 30_000;
const pattern = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/;

export class SignedTime {
  readonly #key: Uint8Array;
  readonly #clock: Pick<Clock, 'now'>;

  /** @param key the same on all machines of the cluster, and known to nobody else */
  constructor(key: Uint8Array, clock: Pick<Clock, 'now'>) {
    this.#key = key;
    this.#clock = clock;
  }

  sign(fields: readonly string[]): string {
    const seconds = String(Math.floor(this.#clock.now() / 1_000));
    return `${seconds}.${this.#digest(seconds, fields).toString('base64url')}`;
  }

  /** In the same time for each wrong digest. @returns when it was signed; undefined for what was not, or with other fields */
  read(signed: string, fields: readonly string[]): number | undefined {
    const [, seconds, digest] = pattern.exec(signed) ?? [];
    if (seconds === undefined || digest === undefined) return undefined;
    const expected = this.#digest(seconds, fields);
    if (!timingSafeEqual(Buffer.from(digest, 'base64url'), expected)) return undefined;
    return Number(seconds) * 1_000;
  }

  /** @param signedMs as `read` returned it */
  isBelieved(signedMs: number | undefined): boolean {
    return signedMs !== undefined && Math.abs(this.#clock.now() - signedMs) <= believedMs;
  }

  #digest(seconds: string, fields: readonly string[]): Buffer {
    return createHmac('sha256', this.#key)
      .update([seconds, ...fields].join('\n'))
      .digest();
  }
}
