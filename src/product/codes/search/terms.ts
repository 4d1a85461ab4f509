/**
 * The terms of a code: what the list's index is built from, and what a filter asks for. Those of its
 * campaigns come and go with its memberships (memberships.ts), all others with its record.
 * Type and dynamic are one term, `form`, so that any pair of them is answered by one index:
 *
 *   url | dynamic | static | static-url | text | email | phone | sms | wifi | vcard | geo
 */
import type { CodeType, QrCodeRecord } from '../../../model/code.ts';
import type { Management } from '../../../store/management/management.ts';
import {
  type ListPosition,
  termKey,
  termRange,
  type Term,
} from '../../../store/management/code-keys.ts';
import { tagKey } from '../../../model/fold.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';

export const allCodes: Term = { kind: 'all', text: '' };
/** No list has been counted under it. */
const versionAfterDamage = 2 ** 40;

function termsOf(code: Pick<QrCodeRecord, 'type' | 'dynamic' | 'tags' | 'design'>): Term[] {
  const terms: Term[] = [allCodes, { kind: 'form', text: code.type }];
  terms.push({ kind: 'form', text: code.dynamic ? 'dynamic' : 'static' });
  if (code.type === 'url' && !code.dynamic) terms.push({ kind: 'form', text: 'static-url' });
  for (const tag of code.tags) terms.push({ kind: 'tag', text: tagKey(tag) });
  const logo = code.design?.logo;
  if (logo !== undefined) terms.push({ kind: 'logo', text: logo });
  return terms;
}

/** The one form that `type` and `dynamic` together ask for; null when no code can be both. */
export function formTerm(
  type: CodeType | undefined,
  dynamic: boolean | undefined,
): Term | undefined | null {
  if (dynamic === undefined) return type === undefined ? undefined : { kind: 'form', text: type };
  if (type === undefined) return { kind: 'form', text: dynamic ? 'dynamic' : 'static' };
  if (type === 'url') return { kind: 'form', text: dynamic ? 'dynamic' : 'static-url' };
  return dynamic ? null : { kind: 'form', text: type };
}

/**
 * Brings the index from what `before` had to what `after` has. Inside a transaction.
 * @param before undefined for a new code @param after undefined for a deleted one
 */
export function moveTerms(
  store: Management,
  before: QrCodeRecord | undefined,
  after: QrCodeRecord | undefined,
): void {
  const code = after ?? before;
  if (code === undefined) throw new Error('Cannot index nothing: expected a code before or after');
  const old = new Map((before === undefined ? [] : termsOf(before)).map((t) => [termName(t), t]));
  const fresh = new Map((after === undefined ? [] : termsOf(after)).map((t) => [termName(t), t]));
  for (const [name, term] of fresh) {
    if (old.has(name)) continue;
    store.codeTerms.put(termKey(code.workspaceNo, term, code), 1);
  }
  for (const [name, term] of old) {
    if (fresh.has(name)) continue;
    store.codeTerms.remove(termKey(code.workspaceNo, term, code));
    // The next one to write the tag spells it.
    if (term.kind === 'tag' && termCount(store, code.workspaceNo, term, 1) === 0) {
      store.tagSpellings.remove([code.workspaceNo, term.text]);
    }
  }
  if (before?.externalId !== after?.externalId) {
    const { externalIds } = store;
    if (before?.externalId) externalIds.remove([code.workspaceNo, before.externalId]);
    if (after?.externalId) externalIds.put([code.workspaceNo, after.externalId], code.no);
  }
  if (after !== undefined) keepSpellings(store, after, before?.tags ?? []);
  raiseVersion(store, code.workspaceNo);
}

/** Of tags that are new to the workspace, or respelled (../tags.ts). */
function keepSpellings(
  store: Management,
  { workspaceNo, tags }: QrCodeRecord,
  before: readonly string[],
): void {
  for (const tag of tags) {
    const key: [number, string] = [workspaceNo, tagKey(tag)];
    // A damaged spelling is replaced.
    const known = store.tagSpellings.get(key, () => undefined);
    if (known === tag || (known !== undefined && before.includes(tag))) continue;
    store.tagSpellings.put(key, tag);
  }
}

/** Indexes the codes that joined a campaign, and those that left it. Inside a transaction. */
export function indexCampaign(
  store: Management,
  { workspaceNo, id }: { readonly workspaceNo: WorkspaceNo; readonly id: string },
  { joined, left }: Record<'joined' | 'left', readonly ListPosition[]>,
): void {
  if (joined.length + left.length === 0) return;
  const term: Term = { kind: 'campaign', text: id };
  for (const code of joined) store.codeTerms.put(termKey(workspaceNo, term, code), 1);
  for (const code of left) store.codeTerms.remove(termKey(workspaceNo, term, code));
  raiseVersion(store, workspaceNo);
}

/** Live codes of a workspace that have the term, 35 ns each. @param limit stops there */
export function termCount(
  store: Management,
  workspaceNo: WorkspaceNo,
  term: Term,
  limit?: number,
): number {
  const range = termRange(workspaceNo, term);
  if (limit === undefined) return store.codeTerms.count(range);
  return [...store.codeTerms.keys({ ...range, limit })].length;
}

/** Counts the changes of a workspace's codes: a total holds for one version. */
export function listVersion(store: Management, workspaceNo: WorkspaceNo): number {
  return store.listVersions.get(workspaceNo, () => versionAfterDamage) ?? 0;
}

function raiseVersion(store: Management, workspaceNo: WorkspaceNo): void {
  store.listVersions.put(workspaceNo, listVersion(store, workspaceNo) + 1);
}

function termName(term: Term): string {
  return `${term.kind}:${term.text}`;
}
