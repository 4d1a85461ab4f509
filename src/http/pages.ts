/**
 * The pages that a scan may meet instead of a redirect. Their reader stands before a poster with a phone in the hand and
 * did nothing wrong: a friendly sentence in a language of theirs, what may help, and whom to ask.
 *
 *   kind, workspace, Accept-Language --> the language: of the workspace's texts and the ten of the standard ones
 *     --> the page, kept: a standard one for good (kinds x languages), one of a workspace in a bounded cache
 *
 * A page is at most 5 KB and loads nothing (pages/page.ts). A workspace that says nothing has the installation's brand; what
 * it says of its brand replaces that whole. Programs that ask for JSON get a problem document, in English.
 */
import {
  type Brand,
  type EndedReason,
  endedReasons,
  type PageText,
  type PageTexts,
  type WorkspacePages,
} from '../model/routing/pages.ts';
import type { Config } from '../config.ts';
import { bestLanguage } from '../routes/language.ts';
import { type ErrorPageKind, errorPageKinds } from './pages/language-words.ts';
import { type PackedPages, type PageChanges, unpackPages } from './pages/packed-pages.ts';
import { makePage, type PageHtml } from './pages/page.ts';
import { pageLanguages, wordsOf } from './pages/words.ts';

export interface ErrorPage extends PageHtml {
  readonly language: string;
}

/** Pages of workspaces that are kept, in each redirect thread: about 5 MB. */
const renderedMax = 1_000;
/** Workspaces whose settings are kept as objects. */
const unpackedMax = 250;
/** Of who reads none of the languages that there are. */
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

/** The problem document of a kind (RFC 9457). */
export const errorProblem = (kind: ErrorPageKind): string => problems.get(kind)!;

/** The language of a page: one in which the workspace speaks, or one of the standard texts. */
function chooseLanguage(header: string, own: readonly string[]): string {
  const found = bestLanguage(header, [...own, ...pageLanguages]) ?? lastResort;
  // Of a standard text in German and the workspace's in Swiss German, who reads German gets the workspace's.
  return bestLanguage(found, own) ?? found;
}

function textsOf(kind: ErrorPageKind, texts: WorkspacePages['texts']): PageTexts {
  const reason = endedReasons.find((one) => one === kind);
  return (reason && texts[reason]) ?? {};
}

/** @param language of `own`, or of the standard texts */
function render(kind: ErrorPageKind, language: string, brand: Brand, own: PageTexts): ErrorPage {
  const standard = pageLanguages.find((one) => one === bestLanguage(language, pageLanguages));
  const words = wordsOf(standard ?? lastResort);
  const { title, text, help } = words.pages[kind];
  const given = own[language];
  const content = given === undefined ? { title, texts: [text, help] } : textOf(given);
  const contact = { text: words.contact, language: standard ?? lastResort };
  return { language, ...makePage({ ...content, language, contact, brand }) };
}

const textOf = ({ title, text }: PageText) => ({ title, texts: [text] });

/** Empty settings are none. */
export function installationBrand({ brandName, supportUrl, colour }: Config['pages']): Brand {
  return {
    ...(brandName === '' ? {} : { name: brandName }),
    ...(supportUrl === '' ? {} : { supportUrl }),
    ...(colour === '' ? {} : { colour }),
  };
}

/**
 * The page of a workspace.
 * @param header `Accept-Language`
 * @param brand the installation's, for a workspace without one
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

/** The oldest is pruned. Redirect threads load no package at their start, and pages are no hot path. */
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
  /** As they are shared by all threads. */
  readonly #packed = new Map<number, PackedPages>();
  readonly #unpacked = new BoundedMap<number, WorkspacePages>(unpackedMax);
  readonly #rendered = new BoundedMap<string, ErrorPage>(renderedMax);
  readonly #standard = new Map<string, ErrorPage>();

  /** @param brand the installation's */
  constructor(brand: Brand) {
    this.#brand = brand;
  }

  /** What has changed, or all at the start; undefined where a workspace says nothing any more. */
  update(changes: PageChanges): void {
    for (const [workspaceNo, packed] of changes) {
      if (packed === undefined) this.#packed.delete(workspaceNo);
      else this.#packed.set(workspaceNo, packed);
      this.#unpacked.delete(workspaceNo);
    }
    this.#rendered.clear();
  }

  /**
   * @param workspaceNo whose code it is; undefined where that cannot be known
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

  /** Kept for good: kinds times languages. */
  #findStandard(kind: ErrorPageKind, language: string): ErrorPage {
    const key = `${kind} ${language}`;
    const page = this.#standard.get(key) ?? render(kind, language, this.#brand, {});
    this.#standard.set(key, page);
    return page;
  }
}
