/**
 * Who sent a request that another machine of the cluster forwards: two headers, which that machine alone can make.
 *
 *   X-Quietzone-Client: <address>
 *   X-Quietzone-Proof:  <unix seconds>.<base64url HMAC-SHA256 of "seconds\naddress\nmethod\npath">
 *
 * An address is believed for 30 s, so that a proof that somebody has recorded soon names nobody. A holder of the key
 * may name any address; a client's own headers of these names have no proof, and are overwritten where it is forwarded.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request } from '../../http/request.ts';
import type { Clock } from '../../model/clock.ts';

/** Clocks of machines differ by a second or two; a body is still to come when the proof is read. */
const believedMs = 30_000;
const proofPattern = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/;

type Forwarded = Pick<Request, 'method' | 'path' | 'header'>;

export class ForwardingProof {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  /** @param key the same on all machines of the cluster, and known to nobody else */
  constructor(key: Uint8Array, clock: Clock) {
    this.#key = key;
    this.#clock = clock;
  }

  /** The headers of a request on its way to the leader. */
  headersOf(request: Pick<Request, 'method' | 'path' | 'clientAddress'>): Record<string, string> {
    const { clientAddress } = request;
    const seconds = String(Math.floor(this.#clock.now() / 1_000));
    const proof = this.#digest(seconds, clientAddress, request).toString('base64url');
    return { 'x-quietzone-client': clientAddress, 'x-quietzone-proof': `${seconds}.${proof}` };
  }

  /** The client of a request that a machine of the cluster has just forwarded; undefined of any other. */
  clientOf(request: Forwarded): string | undefined {
    const sentMs = this.#sentMs(request);
    if (sentMs === undefined || Math.abs(this.#clock.now() - sentMs) > believedMs) return undefined;
    return request.header('x-quietzone-client');
  }

  /** Whether a machine of the cluster has forwarded it, whenever that was: between clocks that differ, too, no request runs in circles. */
  isForwarded(request: Forwarded): boolean {
    return this.#sentMs(request) !== undefined;
  }

  /** When it was forwarded; undefined without a proof, or with another one. */
  #sentMs(request: Forwarded): number | undefined {
    const proof = request.header('x-quietzone-proof');
    if (proof === undefined) return undefined;
    const [, seconds, digest] = proofPattern.exec(proof) ?? [];
    if (seconds === undefined || digest === undefined) return undefined;
    const address = request.header('x-quietzone-client') ?? '';
    const expected = this.#digest(seconds, address, request);
    if (!timingSafeEqual(Buffer.from(digest, 'base64url'), expected)) return undefined;
    return Number(seconds) * 1_000;
  }

  #digest(seconds: string, address: string, { method, path }: Pick<Request, 'method' | 'path'>) {
    const hmac = createHmac('sha256', this.#key);
    return hmac.update(`${seconds}\n${address}\n${method}\n${path}`).digest();
  }
}
