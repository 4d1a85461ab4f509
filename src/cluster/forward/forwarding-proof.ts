/**
 * Who sent a request that another machine of the cluster forwards: two headers, which that machine alone can make.
 *
 *   X-Quietzone-Client: <address>
 *   X-Quietzone-Proof:  the time, signed with address, method and path (signed-time.ts)
 *
 * A holder of the key
 * may name any address; a client's own headers of these names have no proof, and are overwritten where it is forwarded.
 */
import type { Request } from '../../http/request.ts';
import type { Clock } from '../../model/clock.ts';
import { SignedTime } from '../signed-time.ts';

type Forwarded = Pick<Request, 'method' | 'path' | 'header'>;

export class ForwardingProof {
  readonly #time: SignedTime;

  /** @param key the same on all machines of the cluster, and known to nobody else */
  constructor(key: Uint8Array, clock: Clock) {
    this.#time = new SignedTime(key, clock);
  }

  /** The headers of a request on its way to the leader. */
  headersOf({
    method,
    path,
    clientAddress,
  }: Pick<Request, 'method' | 'path' | 'clientAddress'>): Record<string, string> {
    const proof = this.#time.sign([clientAddress, method, path]);
    return { 'x-quietzone-client': clientAddress, 'x-quietzone-proof': proof };
  }

  /** The client of a request that a machine of the cluster has just forwarded; undefined of any other. */
  clientOf(request: Forwarded): string | undefined {
    if (!this.#time.isBelieved(this.#sentMs(request))) return undefined;
    return request.header('x-quietzone-client');
  }

  /** Whether a machine of the cluster has forwarded it, whenever that was: between clocks that differ, too, no request runs in circles. */
  isForwarded(request: Forwarded): boolean {
    return this.#sentMs(request) !== undefined;
  }

  /** When it was forwarded; undefined without a proof, or with another one. */
  #sentMs(request: Forwarded): number | undefined {
    const { method, path } = request;
    const proof = request.header('x-quietzone-proof');
    if (proof === undefined) return undefined;
    const address = request.header('x-quietzone-client') ?? '';
    return this.#time.read(proof, [address, method, path]);
  }
}
