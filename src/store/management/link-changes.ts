/**
 * Every change of a link has a number, in the transaction that makes the change: table `link_changes`, number -> code.
 *
 *   … | 41 -> code 7 | 42 -> code 9 | 43 -> code 7 |        a process that has read up to 41 reads codes 9 and 7 again
 *
 * A copy of the links (a link table in another process, an edge) follows them by number. The newest
 * `linkChangesKept` are kept; where more are missed, or a number is missing, the copy is made anew from all links.
 * A write pays one put and one removal. A service of an older release does not number its own changes, and removes
 * all numbers when it starts, before its first change: that leaves a number missing, too.
 */
import type { CodeNo } from '../../model/numbers.ts';
import type { Management } from './management.ts';

/** 2 MB. At 10 changes a second, those of the last three hours. */
export const linkChangesKept = 100_000;

/** Numbers between two searches for those that an older release has left, and how many such a search removes. */
const leftoversEvery = 64;
const leftoversMax = 256;

/** Inside the transaction of the change. @returns its number */
export function numberLinkChange(store: Pick<Management, 'bulk' | 'next'>, codeNo: CodeNo): number {
  const { linkChanges } = store.bulk;
  const number = store.next('link');
  const oldest = number - linkChangesKept;
  linkChanges.put(number, codeNo);
  if (oldest < 1) return number;
  linkChanges.remove(oldest);
  if (number % leftoversEvery === 0) {
    const leftovers = [...linkChanges.keys({ start: 0, end: oldest, limit: leftoversMax })];
    for (const key of leftovers) linkChanges.remove(key);
  }
  return number;
}

/** Codes of the changes from `first` to `last`, by number; undefined where one is missing or damaged. */
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
