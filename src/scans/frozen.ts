/**
 * Counters with a damaged record: a code, or a workspace's sums (store/scans/scans.ts). What its actor cannot read it
 * cannot add to, so it freezes: nothing of it is written any more, its numbers are refused, and all others go on.
 *
 *   actor meets damage --> frozen in memory --checkpoint--> mark: the sequence that its records are at
 *
 * Until the mark is stored, the records and the blocks since are still the whole truth, apart from the one that is
 * damaged, which refuses itself. From then on the records miss scans, so all of them are refused. The scans stay in
 * their blocks as long as raw scans are kept.
 */
import type { CodeNo } from '../model/numbers.ts';
import { dataDamaged } from '../model/failure.ts';
import { partitionOf } from '../model/code.ts';
import { readCheckpoints, type ScanStore, workspaceOfCounter } from '../store/scans/scans.ts';

export class FrozenCounters {
  readonly #store: ScanStore;

  constructor(store: ScanStore) {
    this.#store = store;
  }

  has(counter: CodeNo): boolean {
    return this.#store.frozen.has(counter);
  }

  /** @throws Failure data_damaged */
  refuse(counter: CodeNo): void {
    if (this.has(counter)) throw dataDamaged('The numbers of this code cannot be read');
  }

  /** Inside the checkpoint's transaction, before the checkpoint moves. */
  mark(counter: CodeNo): void {
    if (this.has(counter)) return;
    const of = workspaceOfCounter(counter) === undefined ? 'codes' : 'workspaces';
    this.#store.frozen.put(counter, readCheckpoints(this.#store, of)[partitionOf(counter)]!);
  }

  get count(): number {
    return this.#store.frozen.count({});
  }
}
