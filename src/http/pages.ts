/**
 * The pages that a scan may get instead of a redirect. Their reader stands in front of a poster and did nothing wrong: a
 * page has a friendly sentence in the reader's language, what may help, and a contact.
 *
 *   kind, workspace, Accept-Language --> language: among those of the workspace's texts and the ten standard ones
 *     --> page, cached: standard pages without a limit (kinds x languages), those of workspaces with one
 *
 * A page has at most 5 KB and loads nothing (pages/page.ts). A workspace without a brand has the installation's.
 * Programs that ask for JSON get a problem document in English.
 */
import {
  type Brand,
  type EndedReason,
  endedReasons,
  type PageTexts,
  type WorkspacePages,
} from '../model/routing/pages.ts';
import type { Config } from '../config.ts';
import { bestLanguage } from '../routes/language.ts';
import { type PackedPages, type PageChanges, unpackPages } from './pages/packed-pages.ts';
import { makePage, type PageHtml } from './pages/page.ts';
import { type ErrorPageKind, errorPageKinds, pageLanguages, wordsOf } from './pages/words.ts';

export interface ErrorPage extends PageHtml {
  readonly language: string;
}

/** Cached pages of workspaces in each redirect thread: about 5 MB. */
const renderedMax = 1_000;
const unpackedMax = 250;
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

const problems = new Map(
  errorPageKinds.map((kind) => {
    const [status, code] = statuses[kind];
    const { title, text } = wordsOf(lastResort).pages[kind];
    return [kind, JSON.stringify({ type: 'about:blank', title, status, detail: text, code })];
  }),
);

export const errorProblem = (kind: ErrorPageKind): string => problems.get(kind)!;

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
  const words = wordsOf(standard ?? lastResort);
  const { title, text, help } = words.pages[kind];
  const custom = own[language];
  const shown = { title: custom?.title ?? title, texts: custom ? [custom.text] : [text, help] };
  const contact = { text: words.contact, language: standard ?? lastResort };
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

/** Drops its oldest entry. Not lru-cache, which every redirect thread would load at its start. */
class BoundedMap<K, V> extends Map<K, V> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#max) {
      const { value: oldest, done } = this.keys().next();
      if (done !== true) this.delete(oldest);
    }
    return super.set(key, value);
  }
}

export class Pages {
  readonly #brand: Brand;
  readonly #packed = new Map<number, PackedPages>();
  readonly #unpacked = new BoundedMap<number, WorkspacePages>(unpackedMax);
  readonly #rendered = new BoundedMap<string, ErrorPage>(renderedMax);
  readonly #standard = new Map<string, ErrorPage>();

  constructor(brand: Brand) {
    this.#brand = brand;
  }

  update(changes: PageChanges): void {
    for (const [workspaceNo, packed] of changes) {
      if (packed === undefined) this.#packed.delete(workspaceNo);
      else this.#packed.set(workspaceNo, packed);
      this.#unpacked.delete(workspaceNo);
    }
    this.#rendered.clear();
  }

  /**
   * @param workspaceNo of the code; undefined for an unknown code
   * @param header `Accept-Language`
   */
  find(kind: ErrorPageKind, workspaceNo: number | undefined, header: string): ErrorPage {
    const pages = workspaceNo === undefined ? undefined : this.#pagesOf(workspaceNo);
    if (pages === undefined) return this.#findStandard(kind, chooseLanguage(header, []));
    const own = textsOf(kind, pages.texts);
    const language = chooseLanguage(header, Object.keys(own));
    const key = `${workspaceNo} ${kind} ${language}`;
    const kept = this.#rendered.get(key);
    if (kept !== undefined) return kept;
    const page = render(kind, language, shownBrand(pages, this.#brand), own);
    this.#rendered.set(key, page);
    return page;
  }

  #pagesOf(workspaceNo: number): WorkspacePages | undefined {
    const packed = this.#packed.get(workspaceNo);
    if (packed === undefined) return undefined;
    const kept = this.#unpacked.get(workspaceNo);
    if (kept !== undefined) return kept;
    const pages = unpackPages(packed);
    this.#unpacked.set(workspaceNo, pages);
    return pages;
  }

  #findStandard(kind: ErrorPageKind, language: string): ErrorPage {
    const key = `${kind} ${language}`;
    const page = this.#standard.get(key) ?? render(kind, language, this.#brand, {});
    this.#standard.set(key, page);
    return page;
  }
}
