/**
 * The tags of a workspace: which there are, how often, and how they are spelled (model/fold.ts). The index counts codes
 * by tag anyway (search/terms.ts); a spelling is stored as long as a code has the tag.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { WorkspaceNo } from '../../model/numbers.ts';
import { distinctTags, foldText, tagKey } from '../../model/fold.ts';
import type { Management } from '../../store/management/management.ts';
import { termCount } from './search/terms.ts';

/** Tags read of a workspace, in the order of their keys: about 50 ms in slices. */
const readMax = 10_000;
const sliceMax = 500;

export interface TagCount {
  readonly tag: string;
  /** Live codes that have it. */
  readonly codes: number;
}

/**
 * Tags as the workspace spells them, each once. Inside the transaction that writes them.
 * @param mine the code's tags before: they stay as they are, but the code may respell a tag that no other code has
 */
export function spelledTags(
  store: Management,
  workspaceNo: WorkspaceNo,
  tags: readonly string[],
  mine: readonly string[] = [],
): string[] {
  const keysOfMine = new Set(mine.map(tagKey));
  return distinctTags(tags).map((tag) => {
    if (mine.includes(tag)) return tag;
    const key = tagKey(tag);
    const isOnlyMine =
      keysOfMine.has(key) && termCount(store, workspaceNo, { kind: 'tag', text: key }, 2) === 1;
    return isOnlyMine ? tag : (store.tagSpellings.get([workspaceNo, key], () => undefined) ?? tag);
  });
}

/** Those whose key has the text, the most used first. @returns at most `limit`, and how many there are */
export async function listTags(
  store: Management,
  workspaceNo: WorkspaceNo,
  { search, limit }: { readonly search: string; readonly limit: number },
): Promise<{ readonly data: TagCount[]; readonly total: number }> {
  const found: TagCount[] = [];
  const wanted = foldText(search).trim();
  let after = '';
  for (let read = 0; read < readMax; read += sliceMax) {
    store.environment.refresh();
    const start: [number, string] = [workspaceNo, after];
    const slice = [
      ...store.tagSpellings.keys({ start, end: [workspaceNo + 1, ''], limit: sliceMax }),
    ];
    for (const key of slice) {
      after = `${key[1]}\0`;
      if (!key[1].includes(wanted)) continue;
      // The key, the tag in lower case, replaces a damaged spelling.
      const tag = store.tagSpellings.get(key, ([, folded]) => folded) ?? key[1];
      found.push({ tag, codes: termCount(store, workspaceNo, { kind: 'tag', text: key[1] }) });
    }
    if (slice.length < sliceMax) break;
    await yieldToEventLoop();
  }
  found.sort((one, other) => other.codes - one.codes || (one.tag < other.tag ? -1 : 1));
  return { data: found.slice(0, limit), total: found.length };
}
