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
}
