/**
 * How many bulk requests are read and made at a time: each may hold the rows of 24 MB of body and what it
 * answers, so the product is the memory they can take (measured: 3 × 260 MB). The others wait, their
 * bodies paused; when too many wait it is 503. A workspace has at most two of the places, so one cannot
 * keep out the rest: p-limit knows no such share.
 */
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

interface Waiting {
  readonly workspaceNo: WorkspaceNo;
  readonly enter: () => void;
}

export class BulkGate {
  readonly #atOnceMax: number;
  readonly #inside = new Map<number, number>();
  #waiting: Waiting[] = [];

  constructor(atOnceMax: number = standardBounds.atOnceMax) {
    this.#atOnceMax = atOnceMax;
  }

  /** @returns gives the place back @throws Failure overloaded */
  async enter(workspaceNo: WorkspaceNo): Promise<() => void> {
    if (!this.#hasPlace(workspaceNo)) {
      if (this.#waiting.length >= waitingMax) {
        throw new Failure('overloaded', 'Too many bulk requests wait', { retryAfterSeconds });
      }
      await new Promise<void>((enter) => this.#waiting.push({ workspaceNo, enter }));
    } else {
      this.#take(workspaceNo);
    }
    return () => this.#leave(workspaceNo);
  }

  #hasPlace(workspaceNo: WorkspaceNo): boolean {
    const all = [...this.#inside.values()].reduce((sum, count) => sum + count, 0);
    return all < this.#atOnceMax && (this.#inside.get(workspaceNo) ?? 0) < atOncePerWorkspaceMax;
  }

  #take(workspaceNo: WorkspaceNo): void {
    this.#inside.set(workspaceNo, (this.#inside.get(workspaceNo) ?? 0) + 1);
  }

  #leave(workspaceNo: WorkspaceNo): void {
    const left = (this.#inside.get(workspaceNo) ?? 1) - 1;
    if (left === 0) this.#inside.delete(workspaceNo);
    else this.#inside.set(workspaceNo, left);
    const next = this.#waiting.find((waiting) => this.#hasPlace(waiting.workspaceNo));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((waiting) => waiting !== next);
    this.#take(next.workspaceNo);
    next.enter();
  }
}
