/**
 * The terms of a code: what the list's index is built from, and what a filter asks for.
 * Type and dynamic are one term, `form`, so that any pair of them is answered by one index:
 *
 *   url | dynamic | static | static-url | text | email | phone | sms | wifi | vcard | geo
 */
import type { CodeType, QrCodeRecord } from '../model/code.ts';
import type { Management } from '../store/management.ts';
import { termCountKey, termKey, type Term } from '../store/code-keys.ts';

export const allCodes: Term = { kind: 'all', text: '' };
/** Counts the changes of a workspace's codes: what was counted under one version holds until the next. */
export const listVersion: Term = { kind: 'version', text: '' };

const nothing = new Uint8Array(0);

function termsOf(code: QrCodeRecord): Term[] {
  const terms: Term[] = [allCodes, { kind: 'form', text: code.type }];
  terms.push({ kind: 'form', text: code.dynamic ? 'dynamic' : 'static' });
  if (code.type === 'url' && !code.dynamic) terms.push({ kind: 'form', text: 'static-url' });
  for (const tag of code.tags) terms.push({ kind: 'tag', text: tag });
  if (code.campaignId !== undefined) terms.push({ kind: 'campaign', text: code.campaignId });
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
  const old = new Map((before === undefined ? [] : termsOf(before)).map((t) => [nameOf(t), t]));
  const fresh = new Map((after === undefined ? [] : termsOf(after)).map((t) => [nameOf(t), t]));
  for (const [name, term] of fresh) {
    if (old.has(name)) continue;
    store.codeTerms.put(termKey(code.workspaceNo, term, code), nothing);
    addToCount(store, code.workspaceNo, term, 1);
  }
  for (const [name, term] of old) {
    if (fresh.has(name)) continue;
    store.codeTerms.remove(termKey(code.workspaceNo, term, code));
    addToCount(store, code.workspaceNo, term, -1);
  }
  addToCount(store, code.workspaceNo, listVersion, 1);
}

/** Live codes of a workspace that have the term. */
export function termCount(store: Management, workspaceNo: number, term: Term): number {
  return store.termCounts.get(termCountKey(workspaceNo, term)) ?? 0;
}

function addToCount(store: Management, workspaceNo: number, term: Term, change: number): void {
  const key = termCountKey(workspaceNo, term);
  const count = (store.termCounts.get(key) ?? 0) + change;
  if (count > 0) store.termCounts.put(key, count);
  else store.termCounts.remove(key);
}

function nameOf(term: Term): string {
  return `${term.kind}:${term.text}`;
}
