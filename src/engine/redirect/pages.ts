/**
 * The pages that a scan may get instead of a redirect: a friendly sentence in the reader's language, what may help, and a
 * contact. The language is the best of the workspace's texts and the ten standard ones.
 *
 * The standard texts (pages/texts.json) have the tone of a shop that writes to its customers: de with Sie, fr with vous, nl
 * with je, tr with siz, es and pt for both sides of the Atlantic, it, pl and ja polite. A page has at most 5 KB and loads
 * nothing. A workspace without a brand has the installation's. JSON is in English.
 */
import {
  type Brand,
  type EndedReason,
  endedReasons,
  noPages,
  type PageTexts,
  type WorkspacePages,
} from '../../model/routing/pages.ts';
import type { Config } from '../../platform/config/config.ts';
import { bestLanguage } from '../routes/language.ts';
import { makePage, type PageHtml } from './pages/page.ts';
import words from './pages/texts.json' with { type: 'json' };

/** `damaged` 503: the code's record is damaged; `throttled` 429: too many unknown codes. */
export const errorPageKinds = [
  'unknown',
  ...endedReasons,
  'damaged',
  'throttled',
  'method',
] as const;
export type ErrorPageKind = (typeof errorPageKinds)[number];

export const pageLanguages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'tr', 'ja'] as const;

export interface ErrorPage extends PageHtml {
  readonly language: string;
}

/** By workspace; undefined = removed. */
export type PageChanges = ReadonlyArray<
  readonly [workspaceNo: number, pages: WorkspacePages | undefined]
>;

/** Cached pages in each redirect thread: about 5 MB. */
const renderedMax = 1_000;
const lastResort = 'en';

const statuses: Readonly<Record<ErrorPageKind, readonly [status: number, code: string]>> = {
  unknown: [404, 'not_found'],
  deleted: [410, 'gone'],
  paused: [410, 'paused'],
  not_started: [404, 'not_started'],
  expired: [410, 'expired'],
  used_up: [410, 'used_up'],
  damaged: [503, 'data_damaged'],
  throttled: [429, 'rate_limited'],
  method: [405, 'method_not_allowed'],
};

export const errorStatus = (kind: ErrorPageKind): number => statuses[kind][0];

export function errorProblem(kind: ErrorPageKind): string {
  const [status, code] = statuses[kind];
  const { title, text: detail } = words[lastResort].pages[kind];
  return JSON.stringify({ type: 'about:blank', title, status, detail, code });
}

/** @param own languages of the workspace's texts */
function chooseLanguage(header: string, own: readonly string[]): string {
  const found = bestLanguage(header, [...own, ...pageLanguages]) ?? lastResort;
  // A workspace's text in Swiss German goes before a standard text in German.
  return bestLanguage(found, own) ?? found;
}

function textsOf(kind: ErrorPageKind, texts: WorkspacePages['texts']): PageTexts {
  const reason = endedReasons.find((one) => one === kind);
  return (reason && texts[reason]) ?? {};
}

function render(kind: ErrorPageKind, language: string, brand: Brand, own: PageTexts): ErrorPage {
  const standard = pageLanguages.find((one) => one === bestLanguage(language, pageLanguages));
  const { contact: contactText, pages } = words[standard ?? lastResort];
  const { title, text, help } = pages[kind];
  const custom = own[language];
  const shown = { title: custom?.title ?? title, texts: custom ? [custom.text] : [text, help] };
  const contact = { text: contactText, language: standard ?? lastResort };
  return { language, ...makePage({ ...shown, language, contact, brand }) };
}

export function installationBrand({ brandName, supportUrl, colour }: Config['pages']): Brand {
  return {
    ...(brandName === '' ? {} : { name: brandName }),
    ...(supportUrl === '' ? {} : { supportUrl }),
    ...(colour === '' ? {} : { colour }),
  };
}

/**
 * @param header `Accept-Language`
 * @param brand of the installation, for a workspace without one
 */
export function previewPage(
  reason: EndedReason,
  pages: WorkspacePages,
  header: string,
  brand: Brand,
): ErrorPage {
  const own = textsOf(reason, pages.texts);
  const language = chooseLanguage(header, Object.keys(own));
  return render(reason, language, shownBrand(pages, brand), own);
}

const shownBrand = (pages: WorkspacePages, brand: Brand): Brand =>
  Object.keys(pages.brand).length > 0 ? pages.brand : brand;

export class Pages {
  readonly #brand: Brand;
  readonly #workspaces = new Map<number, WorkspacePages>();
  /** By workspace, kind and language. */
  readonly #rendered = new Map<string, ErrorPage>();

  constructor(brand: Brand) {
    this.#brand = brand;
  }

  update(changes: PageChanges): void {
    for (const [workspaceNo, pages] of changes) {
      if (pages === undefined) this.#workspaces.delete(workspaceNo);
      else this.#workspaces.set(workspaceNo, pages);
    }
    this.#rendered.clear();
  }

  /**
   * @param workspaceNo of the code; undefined for an unknown code
   * @param header `Accept-Language`
   */
  find(kind: ErrorPageKind, workspaceNo: number | undefined, header: string): ErrorPage {
    const pages = workspaceNo === undefined ? undefined : this.#workspaces.get(workspaceNo);
    const own = textsOf(kind, pages?.texts ?? {});
    const language = chooseLanguage(header, Object.keys(own));
    const key = `${pages === undefined ? '' : workspaceNo} ${kind} ${language}`;
    const cached = this.#rendered.get(key);
    if (cached !== undefined) return cached;
    const page = render(kind, language, shownBrand(pages ?? noPages, this.#brand), own);
    if (this.#rendered.size >= renderedMax) this.#rendered.clear();
    this.#rendered.set(key, page);
    return page;
  }
}
