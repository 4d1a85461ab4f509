/** What a language has to say, and the kinds of pages that say it. */
import { endedReasons } from '../../model/routing/pages.ts';

/**
 * Unknown code 404; its record damaged 503; too many unknown codes 429; not GET or HEAD 405; links that may be old 503.
 */
export const errorPageKinds = [
  'unknown',
  ...endedReasons,
  'damaged',
  'throttled',
  'method',
] as const;
export type ErrorPageKind = (typeof errorPageKinds)[number];

export interface PageWords {
  readonly title: string;
  readonly text: string;
  /** What its reader can do. */
  readonly help: string;
}

export interface LanguageWords {
  /** The text of the link to the address for support. */
  readonly contact: string;
  readonly pages: Readonly<Record<ErrorPageKind, PageWords>>;
}
