/** The disk of a simulated machine: one table of numbers, and the position in the log. */
import type { LogPosition } from '../../../src/cluster/log/applier.ts';
import type { ReplicatedStore } from '../../../src/cluster/log/apply-queue.ts';
import type { Replicator, Work } from '../../../src/store/replicated-transactions.ts';

/** Of one process: runs what is due while it lives, in the order of the calls. */
export type Soon = (run: () => void) => void;

export interface SimulatedStore {
  /** No transaction can be stored. */
  isFull: boolean;
  position(): LogPosition;
  records(): ReadonlyMap<string, number>;
  get(key: string): number | undefined;
  /** Inside a work. */
  put(key: string, value: number): void;
  /** Inside a work. */
  remove(key: string): void;
  /** As one process has it. @param stored takes its time */
  replicated(stored: Soon): ReplicatedStore;
  /**
   * @param tried takes its time, between a trial and its end
   * @returns runs transactions of one process
   */
  replicateWith(replicator: Replicator, soon: Soon, tried: Soon): (work: Work) => Promise<unknown>;
  /** The process that had it is dead. */
  reopen(): void;
  /** Nothing is on it any more. Between two processes. */
  empty(): void;
  /** What was stored so far survives a loss of power. */
  flush(): void;
  /** @param keep transactions that were not flushed and are there all the same. Between two processes */
  loseUnflushed(keep: number): void;
}
