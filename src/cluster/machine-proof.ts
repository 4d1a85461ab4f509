/**
 * Proves that a request comes from a machine with `cluster.secret`, and for whom it asks. Two headers:
 *
 *   X-Quietzone-Client:  the address of the client whose request it forwards, or `machine`
 *   X-Quietzone-Proof:   <unix seconds>.<base64url HMAC-SHA256 of "seconds\nclient\nmethod\npath">
 *
 * A proof expires after 30 s, so that a recorded one is soon of no use. A holder of the secret may name any address.
 * A standby overwrites these headers of a client, so only machines can send them.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request } from '../platform/uws/request.ts';
import type { Clock } from '../model/clock.ts';

/** Clocks of machines differ by a second or two, and a body may arrive after the check. */
export const proofMsMax = 30_000;
const proofPattern = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/;
const machine = 'machine';

type Target = Pick<Request, 'method' | 'path'>;
type Received = Target & Pick<Request, 'header'>;

export class MachineProof {
  readonly #key: Uint8Array;
  readonly #clock: Pick<Clock, 'now'>;

  /** @param key the same on all cores, and secret */
  constructor(key: Uint8Array, clock: Pick<Clock, 'now'>) {
    this.#key = key;
    this.#clock = clock;
  }

  /** @param clientAddress of a forwarded request; absent = the machine asks for itself */
  headersOf(
    target: Target & { readonly clientAddress?: string },
  ): Record<'x-quietzone-client' | 'x-quietzone-proof', string> {
    const { clientAddress: client = machine } = target;
    const seconds = String(Math.floor(this.#clock.now() / 1_000));
    const digest = this.#digest(seconds, client, target).toString('base64url');
    return { 'x-quietzone-client': client, 'x-quietzone-proof': `${seconds}.${digest}` };
  }

  /** The client of a request that a machine has just forwarded; undefined for any other request. */
  clientOf(request: Received): string | undefined {
    const client = this.#provenClient(request);
    return client === machine ? undefined : client;
  }

  /** Whether a machine has just sent the request for itself. */
  isFromMachine(request: Received): boolean {
    return this.#provenClient(request) === machine;
  }

  /** Whether a machine has sent it, however long ago: clocks that differ must not let it be forwarded in circles. */
  isForwarded(request: Received): boolean {
    return this.#signedMs(request) !== undefined;
  }

  #provenClient(request: Received): string | undefined {
    const signedMs = this.#signedMs(request) ?? -Infinity;
    if (Math.abs(this.#clock.now() - signedMs) > proofMsMax) return undefined;
    return request.header('x-quietzone-client');
  }

  /** Compares in constant time. @returns undefined without a valid signature */
  #signedMs(request: Received): number | undefined {
    const proof = proofPattern.exec(request.header('x-quietzone-proof') ?? '');
    const [, seconds, digest] = proof ?? [];
    if (seconds === undefined || digest === undefined) return undefined;
    const expected = this.#digest(seconds, request.header('x-quietzone-client') ?? '', request);
    if (!timingSafeEqual(Buffer.from(digest, 'base64url'), expected)) return undefined;
    return Number(seconds) * 1_000;
  }

  #digest(seconds: string, client: string, { method, path }: Target): Buffer {
    return createHmac('sha256', this.#key)
      .update([seconds, client, method, path].join('\n'))
      .digest();
  }
}
