/**
 * Brand and texts of a workspace for the pages of its codes that do not redirect now. The bounds keep a page with its
 * logo below 5 KB.
 */
import { missedReasons } from './labels.ts';

/** Why a known code does not redirect: `not_started` is answered with 404, the others with 410. */
export const endedReasons = ['deleted', ...missedReasons] as const;
export type EndedReason = (typeof endedReasons)[number];

export const brandNameLengthMax = 60;
export const pageTitleLengthMax = 80;
export const pageTextLengthMax = 400;
export const supportUrlLengthMax = 255;
/** Per reason. */
export const pageLanguagesMax = 12;
/** Of the rendered logo. */
export const brandLogoBytesMax = 1_150;

export interface Brand {
  readonly name?: string;
  /** `data:image/webp;base64,…`, from src/product/images/logo/logo.ts. */
  readonly logo?: string;
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

export const isSilent = ({ brand, texts }: WorkspacePages): boolean =>
  Object.keys(brand).length === 0 && Object.keys(texts).length === 0;

/** @param json written by this program @throws SyntaxError */
export function parsePages(json: string): WorkspacePages {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(json) as WorkspacePages;
}
