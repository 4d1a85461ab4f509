/**
 * Who may ask a core about its cluster, and to do something: a holder of `cluster.secret`, such as the commands of its
 * machine. One header:
 *
 *   Authorization: Quietzone <the time, signed with method and path (signed-time.ts)>
 *
 * The path is with its query: that says who is meant.
 */
import type { Request } from '../../http/request.ts';
import type { Clock } from '../../model/clock.ts';
import { SignedTime } from '../signed-time.ts';

const scheme = 'Quietzone ';

export class ControlProof {
  readonly #time: SignedTime;

  /** @param key the same on all cores, and known to nobody else */
  constructor(key: Uint8Array, clock: Pick<Clock, 'now'>) {
    this.#time = new SignedTime(key, clock);
  }

  /** The Authorization header. @param path with its query */
  headerOf(method: string, path: string): string {
    return scheme + this.#time.sign([method, path]);
  }

  isRight(request: Pick<Request, 'method' | 'path' | 'query' | 'header'>): boolean {
    const { method, path, query } = request;
    const header = request.header('authorization') ?? '';
    if (!header.startsWith(scheme)) return false;
    const target = query === '' ? path : `${path}?${query}`;
    return this.#time.isBelieved(this.#time.read(header.slice(scheme.length), [method, target]));
  }
}
