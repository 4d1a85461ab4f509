/**
 * Renders a page as HTML. It has one style sheet, allowed by its hash, and at most one inline picture: it loads nothing and
 * runs nothing. All texts of a brand are escaped.
 */
import { createHash } from 'node:crypto';
import type { Brand } from '../../../model/routing/pages.ts';
import { escapeHtml } from '../../../model/text.ts';
import { accents, schemes } from './colors.ts';

export interface PageContent {
  /** BCP 47. */
  readonly language: string;
  readonly title: string;
  /** Paragraphs. */
  readonly texts: readonly string[];
  /** Text of the support link, which may be in another language than the page. */
  readonly contact: { readonly text: string; readonly language: string };
  readonly brand: Brand;
}

export interface PageHtml {
  readonly html: string;
  readonly policy: string;
}

export function makePage({ language, title, texts, contact, brand }: PageContent): PageHtml {
  const style = styleOf(brand);
  const shown = escapeHtml(title);
  const html =
    `<!doctype html><html lang="${escapeHtml(language)}"><head><meta charset="utf-8">` +
    '<meta name="viewport" content="width=device-width,initial-scale=1">' +
    '<meta name="robots" content="noindex">' +
    `<title>${shown}</title><style>${style}</style></head>` +
    `<body><main>${headerOf(brand)}<h1 dir="auto">${shown}</h1>` +
    texts.map((text) => `<p dir="auto">${escapeHtml(text)}</p>`).join('') +
    `${linkOf(brand, contact)}</main></body></html>`;
  return { html, policy: policyOf(style, brand.logo !== undefined) };
}

const drawing =
  '<svg viewBox="0 0 24 24" aria-hidden="true">' +
  '<path d="M2 7V2h5M17 2h5v5M22 17v5h-5M7 22H2v-5"/><path d="M9 12h6"/></svg>';

/** The logo, with the name as its text, or name and drawing. */
function headerOf({ logo, name }: Brand): string {
  if (logo !== undefined) {
    return `<img src="${escapeHtml(logo)}" alt="${escapeHtml(name ?? '')}">`;
  }
  return name === undefined ? drawing : `<b dir="auto">${escapeHtml(name)}</b>${drawing}`;
}

function linkOf({ supportUrl }: Brand, { text, language }: PageContent['contact']): string {
  if (supportUrl === undefined) return '';
  const address = escapeHtml(supportUrl);
  return `<p><a href="${address}" rel="noreferrer" lang="${language}">${escapeHtml(text)}</a></p>`;
}

function policyOf(style: string, hasPicture: boolean): string {
  const hash = createHash('sha256').update(style).digest('base64');
  return (
    `default-src 'none'; style-src 'sha256-${hash}'; ${hasPicture ? 'img-src data:; ' : ''}` +
    `base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  );
}

function styleOf({ colour, logo }: Brand): string {
  const accent =
    colour === undefined
      ? { light: schemes.light.drawing, dark: schemes.dark.drawing }
      : accents(colour);
  const variables = (scheme: keyof typeof schemes): string => {
    const { background, title, text } = schemes[scheme];
    return `--b:${background};--t:${title};--s:${text};--a:${accent[scheme]}`;
  };
  return (
    `:root{color-scheme:light dark;${variables('light')}}` +
    `@media(prefers-color-scheme:dark){:root{${variables('dark')}}}` +
    (colour === undefined ? '' : band) +
    rules +
    (logo === undefined ? '' : picture)
  );
}

const band = 'body{border-top:.375rem solid var(--a)}';

/** On a dark page a logo gets a white background: most are made for paper. */
const picture =
  'img{max-width:12rem;max-height:4rem;margin-bottom:1.5rem}' +
  '@media(prefers-color-scheme:dark){img{padding:.5rem;border-radius:.5rem;background:#fff}}';

const rules =
  '*{box-sizing:border-box;margin:0}' +
  'body{min-height:100vh;min-height:100svh;display:grid;place-content:center;justify-items:center;' +
  'padding:2rem 1.5rem;background:var(--b);color:var(--s);text-align:center;' +
  'font:1.0625rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}' +
  'main{max-width:25rem;overflow-wrap:anywhere}' +
  'svg{width:4.5rem;margin-bottom:1.5rem;fill:none;stroke:var(--a);stroke-width:1.5;' +
  'stroke-linecap:round;stroke-linejoin:round}' +
  'b{display:block;color:var(--t);margin-bottom:1.5rem}' +
  'h1{color:var(--t);font-size:1.625rem;line-height:1.25;letter-spacing:-.01em;margin-bottom:.75rem;' +
  'text-wrap:balance}' +
  'p{text-wrap:balance}p+p{margin-top:.75rem;color:var(--t)}' +
  'a{color:var(--a);font-weight:600}';
