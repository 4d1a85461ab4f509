/**
 * Numbers of the link changes that this process has published itself, which its LinkRefresher passes over: publishing
 * one again changes nothing and costs 8 us.
 *
 * The number of a transaction that is undone is given to another change. So a number counts as published only when it
 * stands in the store, for that code, before the published link is read: then that link has the change.
 */
import type { CodeNo } from '../../model/numbers.ts';
import { linkChangesKept } from '../../store/management/link-changes.ts';
import type { Management } from '../../store/management/management.ts';

export class OwnChanges {
  readonly #store: Management;
  /** The last number of a code that is not published yet. */
  readonly #written = new Map<CodeNo, number>();
  readonly #published = new Set<number>();

  constructor(store: Management) {
    this.#store = store;
  }

  written(codeNo: CodeNo, number: number): void {
    if (this.#written.size >= linkChangesKept) this.#written.clear();
    this.#written.set(codeNo, number);
  }

  /** After the store's `refresh`, before the code's link is read. */
  publishing(codeNo: CodeNo): void {
    const number = this.#written.get(codeNo);
    if (number === undefined) return;
    this.#written.delete(codeNo);
    const stored = this.#store.bulk.linkChanges.get(number, () => undefined);
    if (stored !== codeNo) return;
    if (this.#published.size >= linkChangesKept) this.#published.clear();
    this.#published.add(number);
  }

  /** Whether it was published; asked once, in the order of numbers. */
  take(number: number): boolean {
    return this.#published.delete(number);
  }
}
