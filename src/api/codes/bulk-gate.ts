/**
 * Bounds how many bulk requests are in progress: each may hold the rows of 24 MB of body and their answers, so the
 * product is the memory that they take (measured: 3 × 260 MB). The others wait with their bodies paused. A workspace has
 * at most two of the places, so it cannot keep out the others.
 */
import pLimit, { type LimitFunction } from 'p-limit';
import { Failure } from '../../model/failure.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Of bulk requests, by the memory of the machine. */
export interface BulkBounds {
  readonly bodyBytesMax: number;
  readonly atOnceMax: number;
}

/** 10,000 rows of 2,500 bytes: the longest targets there are, with a name, a slug and tags. */
export const standardBounds: BulkBounds = { bodyBytesMax: 25_165_824, atOnceMax: 3 };
const atOncePerWorkspaceMax = 2;
const waitingMax = 32;
const retryAfterSeconds = 5;

export class BulkGate {
  readonly #requestsMax: number;
  readonly #all: LimitFunction;
  readonly #shares = new Map<WorkspaceNo, { readonly limit: LimitFunction; requests: number }>();
  #requests = 0;

  constructor(atOnceMax: number = standardBounds.atOnceMax) {
    this.#requestsMax = atOnceMax + waitingMax;
    this.#all = pLimit(atOnceMax);
  }

  /** @returns gives the place back @throws Failure overloaded */
  async enter(workspaceNo: WorkspaceNo): Promise<() => void> {
    if (this.#requests >= this.#requestsMax) {
      throw new Failure('overloaded', 'Too many bulk requests are waiting', { retryAfterSeconds });
    }
    const share = this.#shares.get(workspaceNo) ?? {
      limit: pLimit(atOncePerWorkspaceMax),
      requests: 0,
    };
    this.#shares.set(workspaceNo, share);
    this.#requests += 1;
    share.requests += 1;
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    await new Promise<void>((enter) => {
      const occupy = async (): Promise<void> => {
        enter();
        await left;
      };
      void share.limit(async () => await this.#all(occupy));
    });
    return () => {
      this.#requests -= 1;
      share.requests -= 1;
      if (share.requests === 0) this.#shares.delete(workspaceNo);
      leave();
    };
  }
}
