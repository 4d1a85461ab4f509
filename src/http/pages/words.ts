/**
 * The standard texts of pages (texts.json) by language and kind, in the tone of a shop that writes to its customers.
 *
 *   de   with Sie     es   for both sides of the Atlantic    pt   for Brazil and Portugal
 *   fr   with vous    nl   with je                           tr   with siz
 *   it, pl, ja        polite, without a form of address if possible
 */
import { endedReasons } from '../../model/routing/pages.ts';
import words from './texts.json' with { type: 'json' };

/** `damaged` 503: the code's record is damaged; `throttled` 429: too many unknown codes. */
export const errorPageKinds = [
  'unknown',
  ...endedReasons,
  'damaged',
  'throttled',
  'method',
] as const;
export type ErrorPageKind = (typeof errorPageKinds)[number];

interface PageWords {
  readonly title: string;
  readonly text: string;
  readonly help: string;
}

interface LanguageWords {
  /** Text of the support link. */
  readonly contact: string;
  readonly pages: Readonly<Record<ErrorPageKind, PageWords>>;
}

export const pageLanguages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'tr', 'ja'] as const;
type PageLanguage = (typeof pageLanguages)[number];

export const wordsOf = (language: PageLanguage): LanguageWords => words[language];
