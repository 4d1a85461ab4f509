/**
 * Numbers every change of a link, in the transaction of the change: table `link_changes`, number -> code.
 *
 *   … | 41 -> code 7 | 42 -> code 9 | 43 -> code 7 |        a process that has read up to 41 reads codes 9 and 7 again
 *
 * A copy of the links follows them by number. The newest `linkChangesKept` are stored; a copy that misses more, or finds a
 * gap, loads all links again.
 */
import type { CodeNo } from '../../model/numbers.ts';
import type { Management } from './management.ts';

/** 2 MB: three hours at 10 changes a second. */
export const linkChangesKept = 100_000;

/** Inside the transaction of the change. @returns the number */
export function numberLinkChange(store: Pick<Management, 'bulk' | 'next'>, codeNo: CodeNo): number {
  const { linkChanges } = store.bulk;
  const number = store.next('link');
  const oldest = number - linkChangesKept;
  linkChanges.put(number, codeNo);
  if (oldest > 0) linkChanges.remove(oldest);
  return number;
}

/** Codes of the changes `first` to `last`, by number; undefined if one is missing or damaged. */
export function linkChangesOf(
  { bulk }: Pick<Management, 'bulk'>,
  first: number,
  last: number,
): Map<number, CodeNo> | undefined {
  const changes = new Map<number, CodeNo>();
  const range = { start: first, end: last + 1 };
  for (const { key, value } of bulk.linkChanges.range(range, () => undefined)) {
    changes.set(key, value);
  }
  return changes.size === last - first + 1 ? changes : undefined;
}
