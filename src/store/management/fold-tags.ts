/**
 * Version 1 to 2: the index knew tags as they were written, and now by their key (model/fold.ts), so that `Summer` and
 * `summer` are one. Records stay; of several spellings the one of the most codes becomes the workspace's.
 * Tags that are their own key, as most are, cost one entry; of the others each code's index key is moved: 28 us, once.
 */
import type { WorkspaceNo } from '../../model/numbers.ts';
import { tagKey } from '../../model/fold.ts';
import { endOf, parseTermCountKey, positionOf, termCountKey, termKey } from './code-keys.ts';
import type { StoreEnvironment, Table } from '../environment.ts';

interface Spelling {
  readonly tag: string;
  readonly codes: number;
}

interface Spellings {
  readonly workspaceNo: WorkspaceNo;
  readonly key: string;
  readonly of: Spelling[];
}

const oldest = { createdAtMs: 0, no: 0 };
const newest = endOf(Number.MAX_SAFE_INTEGER);

/** How workspaces spell their tags. */
export function openTagSpellings(environment: StoreEnvironment): Table<[number, string], string> {
  return environment.table('tag_spellings', { value: 'string' });
}

export function foldTags(environment: StoreEnvironment): void {
  const spellings = openTagSpellings(environment);
  const terms = environment.set<Uint8Array>('code_terms', 'binary');
  const counts = environment.table<Uint8Array, number>('term_counts', { key: 'binary' });
  for (const { workspaceNo, key, of } of spellingsIn(counts)) {
    const [first] = of.toSorted((one, other) => other.codes - one.codes);
    if (first !== undefined) spellings.put([workspaceNo, key], first.tag);
    const written = of.filter(({ tag }) => tag !== key);
    for (const { tag } of written) moveTag(terms, workspaceNo, tag, key);
    for (const { tag } of written)
      counts.remove(termCountKey(workspaceNo, { kind: 'tag', text: tag }));
    if (written.length > 0) {
      const term = { kind: 'tag', text: key } as const;
      const range = {
        start: termKey(workspaceNo, term, oldest),
        end: termKey(workspaceNo, term, newest),
      };
      counts.put(termCountKey(workspaceNo, term), terms.count(range));
    }
  }
}

/** Every tag that codes have, by workspace and key. */
function spellingsIn(counts: Table<Uint8Array, number>): Iterable<Spellings> {
  const found = new Map<string, Spellings>();
  for (const { key: bytes, value: codes } of counts.range({})) {
    const { workspaceNo, kind, text: tag } = parseTermCountKey(bytes);
    if (kind !== 'tag') continue;
    const key = tagKey(tag);
    const name = `${workspaceNo}:${key}`;
    const known = found.get(name) ?? { workspaceNo, key, of: [] };
    known.of.push({ tag, codes });
    found.set(name, known);
  }
  return found.values();
}

function moveTag(
  terms: Table<Uint8Array, 1>,
  workspaceNo: WorkspaceNo,
  tag: string,
  key: string,
): void {
  const from = { kind: 'tag', text: tag } as const;
  const start = termKey(workspaceNo, from, oldest);
  const keys = [...terms.keys({ start, end: termKey(workspaceNo, from, newest) })];
  for (const old of keys) {
    terms.put(termKey(workspaceNo, { kind: 'tag', text: key }, positionOf(old)), 1);
    terms.remove(old);
  }
}
