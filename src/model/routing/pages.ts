/**
 * What a workspace says on the pages of its codes that lead nowhere now: its brand, and texts of its own by reason and
 * language. Bounds are such that a page of all of it, with the drawing of its logo, has at most 5 KB.
 */
import { missedReasons } from './labels.ts';

/** Why a code that is known leads nowhere now: before its beginning 404, else 410. */
export const endedReasons = ['deleted', ...missedReasons] as const;
export type EndedReason = (typeof endedReasons)[number];

export const brandNameLengthMax = 60;
export const pageTitleLengthMax = 80;
export const pageTextLengthMax = 400;
export const supportUrlLengthMax = 255;
/** Languages of one reason. */
export const pageLanguagesMax = 12;
/** Of the logo as it is drawn into the page. */
export const brandLogoBytesMax = 1_150;

export interface Brand {
  readonly name?: string;
  /** `data:image/webp;base64,…`, drawn by src/images/logo/brand-logo.ts. */
  readonly logo?: string;
  /** `#rrggbb` */
  readonly colour?: string;
  /** http, https, mailto or tel. */
  readonly supportUrl?: string;
}

export interface PageText {
  readonly title: string;
  readonly text: string;
}

/** By language, BCP 47 as `Intl.getCanonicalLocales` writes it. */
export type PageTexts = Readonly<Record<string, PageText>>;

export interface WorkspacePages {
  readonly brand: Brand;
  readonly texts: Readonly<Partial<Record<EndedReason, PageTexts>>>;
}

export const noPages: WorkspacePages = { brand: {}, texts: {} };

/** Neither brand nor texts. */
export const isSilent = ({ brand, texts }: WorkspacePages): boolean =>
  Object.keys(brand).length === 0 && Object.keys(texts).length === 0;

/** @param json of this program, in this process or on another machine @throws SyntaxError */
export function parsePages(json: string): WorkspacePages {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(json) as WorkspacePages;
}
