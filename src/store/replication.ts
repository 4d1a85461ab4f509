/** What a replicated environment needs: its commits come from a log that several machines replay (src/cluster). */
import type { Signal } from '../model/signal.ts';
import type { TableKey } from './table.ts';

/** A change of one record: its bytes as they are stored, checksum included; without bytes it is removed. */
export type StoredWrite = readonly [table: string, key: TableKey, bytes?: Uint8Array];

export interface Replicator {
  /** @throws Failure not_active: this machine may not write now; nothing was done */
  check(): void;
  /**
   * Puts the writes into the log. Resolves when they are in it and were applied here: after `applyWrites`.
   * One call at a time. It may wait for as long as the log is away: its outcome is never unknown.
   * @throws Failure not_active: they are not in the log, and never will be
   */
  commit(writes: readonly StoredWrite[]): Promise<void>;
  /** Fired when `check` begins to throw: what is queued is refused now, and need not wait. */
  readonly lapsed: Signal;
}
