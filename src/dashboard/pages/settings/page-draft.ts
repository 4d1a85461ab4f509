/** The unsaved brand and texts of the pages, and the merge patch that saves them. */
import {
  type Brand,
  type EndedReason,
  endedReasons,
  type PageText,
  type PageTexts,
} from '../../../model/routing/pages.ts';
import type { WorkspaceDetails } from '../../client/wire.ts';

export interface PageDraft {
  readonly brand: Brand;
  readonly texts: WorkspaceDetails['pages'];
}

export const draftOf = ({ brand, pages }: WorkspaceDetails): PageDraft => ({ brand, texts: pages });

const noText: PageText = { title: '', text: '' };

export const textOf = ({ texts }: PageDraft, reason: EndedReason, language: string): PageText =>
  texts[reason]?.[language] ?? noText;

/** A blank text is removed; the standard text then applies. */
export function withText(
  draft: PageDraft,
  reason: EndedReason,
  language: string,
  text: PageText,
): PageDraft {
  const { [language]: _before, ...others } = draft.texts[reason] ?? {};
  const isEmpty = text.title === '' && text.text === '';
  const changed = isEmpty ? others : { ...others, [language]: text };
  return { ...draft, texts: { ...draft.texts, [reason]: changed } };
}

export function withBrand(
  draft: PageDraft,
  change: Partial<Record<keyof Brand, string>>,
): PageDraft {
  const brand: Record<string, string> = { ...draft.brand };
  for (const [key, value] of Object.entries(change)) {
    if (value === '') delete brand[key];
    else brand[key] = value;
  }
  return { ...draft, brand };
}

/** The body of the change; empty without changes. */
export function patchOf(before: PageDraft, after: PageDraft) {
  const brand = differences(before.brand, after.brand);
  const pages = Object.fromEntries(
    endedReasons.flatMap((reason) => {
      const texts = differences<PageTexts>(before.texts[reason] ?? {}, after.texts[reason] ?? {});
      return Object.keys(texts).length === 0 ? [] : [[reason, texts]];
    }),
  );
  return {
    ...(Object.keys(brand).length === 0 ? {} : { brand }),
    ...(Object.keys(pages).length === 0 ? {} : { pages }),
  };
}

/** Fields that differ; null for removed fields. */
function differences<T extends object>(before: T, after: T): Record<string, unknown> {
  const was = new Map<string, unknown>(Object.entries(before));
  const is = new Map<string, unknown>(Object.entries(after));
  const changed: Record<string, unknown> = {};
  for (const key of new Set([...was.keys(), ...is.keys()])) {
    const value = is.get(key);
    if (JSON.stringify(value) !== JSON.stringify(was.get(key))) changed[key] = value ?? null;
  }
  return changed;
}
