/**
 * Reports of how much of the log standbys have applied: for writes that must outlive the brokers and the leader.
 *
 * A report may get lost: a standby sends its newest again with every entry that counts, also with a beat.
 */
import type { LogPosition } from './applier.ts';

export type Applied = Pick<LogPosition, 'epoch' | 'n'>;

export interface AppliedReports {
  /** Tells the others that this standby has applied everything up to this entry. */
  report(applied: Applied): void;
  /** @param listener is called with what other machines report @returns stops listening */
  listen(listener: (applied: Applied) => void): () => void;
  /** False while no other machine is expected to report; absent = one is. */
  readonly isExpected?: boolean;
}

/** What other machines have applied, for a write that waits for one of them. */
export class StandbyReports {
  readonly #reports: AppliedReports;
  /** The newest that was reported. */
  #newest = nothingApplied;
  /** One write is under way at a time. */
  #awaited: { readonly applied: Applied; readonly resolve: () => void } | undefined;
  readonly #unlisten: () => void;

  constructor(reports: AppliedReports) {
    this.#reports = reports;
    this.#unlisten = reports.listen((applied) => this.reported(applied));
  }

  /** Resolves when a standby has applied it; at once while no other core has the data. */
  applied(applied: Applied): Promise<void> {
    if (this.#reports.isExpected === false) return Promise.resolve();
    return new Promise((resolve) => {
      this.#awaited = { applied, resolve };
      this.#answer();
    });
  }

  reported(applied: Applied): void {
    if (isBefore(this.#newest, applied)) this.#newest = applied;
    this.#answer();
  }

  /** Former reports say nothing of the epoch that begins. */
  reset(): void {
    this.#newest = nothingApplied;
  }

  /** What waits is never answered. */
  close(): void {
    this.#awaited = undefined;
    this.#unlisten();
  }

  #answer(): void {
    const awaited = this.#awaited;
    if (awaited === undefined || isBefore(this.#newest, awaited.applied)) return;
    this.#awaited = undefined;
    awaited.resolve();
  }
}

const nothingApplied: Applied = { epoch: 0, n: 0 };

export const isBefore = (one: Applied, other: Applied): boolean =>
  one.epoch < other.epoch || (one.epoch === other.epoch && one.n < other.n);
