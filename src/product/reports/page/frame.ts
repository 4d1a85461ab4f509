/**
 * The frame of every page without an account: one style sheet, allowed by its hash, at most one inline picture, no script.
 * The page loads nothing, sends no referrer and is not indexed. User input is escaped as text.
 */
import { createHash } from 'node:crypto';
import { accents } from '../../../engine/redirect/pages/colors.ts';
import type { Brand } from '../../../model/routing/pages.ts';
import { escapeHtml } from '../../../model/text.ts';
import { pageRules } from './page-style.ts';

/** Of the bars and links where a brand has no color: the dashboard's. */
const standardAccent = { light: '#0f6b5c', dark: '#5fcab3' };

export interface FrameContent {
  readonly title: string;
  /** Markup, with `escapeHtml` applied to every text that people wrote. */
  readonly body: string;
  readonly brand: Brand;
  /** `own`: a form of the page may be sent to the service. */
  readonly forms: 'none' | 'own';
}

export interface FramedPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function framePage({ title, body, brand, forms }: FrameContent): FramedPage {
  const { light, dark } = brand.colour === undefined ? standardAccent : accents(brand.colour);
  const style =
    `:root{--accent:${light}}@media screen and (prefers-color-scheme:dark){:root{--accent:${dark}}}` +
    pageRules;
  const html =
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">` +
    '<meta name="viewport" content="width=device-width,initial-scale=1">' +
    '<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">' +
    `<title>${escapeHtml(title)}</title><style>${style}</style></head>\n` +
    `<body>${body}</body></html>\n`;
  return { html, headers: headersOf(style, brand, forms) };
}

function headersOf(
  style: string,
  { logo }: Brand,
  forms: FrameContent['forms'],
): FramedPage['headers'] {
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    ...(logo === undefined ? [] : ['img-src data:']),
    "base-uri 'none'",
    `form-action ${forms === 'own' ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ];
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'private, no-store',
    'X-Robots-Tag': 'noindex, nofollow',
    'Cross-Origin-Opener-Policy': 'same-origin',
  };
}

/** The logo with the name as its text, else the name, else nothing. */
export function markOf({ logo, name }: Brand): string {
  if (logo !== undefined) {
    return `<img class="mark" src="${escapeHtml(logo)}" alt="${escapeHtml(name ?? '')}">`;
  }
  return name === undefined ? '' : `<p class="mark" dir="auto">${escapeHtml(name)}</p>`;
}

/** A page that says one thing. @param more markup below it */
export function noticePage(
  title: string,
  text: string,
  { brand = {}, more = '' }: { readonly brand?: Brand; readonly more?: string } = {},
): FramedPage {
  const body =
    `<main class="notice">${markOf(brand)}<h1>${escapeHtml(title)}</h1>` +
    `<p>${escapeHtml(text)}</p>${more}</main>`;
  return framePage({ title, body, brand, forms: more === '' ? 'none' : 'own' });
}
