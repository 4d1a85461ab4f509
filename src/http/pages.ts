/**
 * The pages that a scan may meet instead of a redirect. Their reader stands before a poster with a phone
 * in the hand and did nothing wrong: a friendly sentence, what may help, no brand, no link.
 *
 * Made once at start, under 2 KB each, nothing to load: no script, no font, no image from anywhere.
 * Their policy allows one style sheet, by its hash, and nothing else. Colours are at least 7:1 (WCAG
 * AAA) in both schemes. Programs that ask for JSON get the same answer as a problem document.
 */
import { createHash } from 'node:crypto';

/** Why a code that is known leads nowhere now: before its beginning 404, else 410. */
export const endedReasons = ['deleted', 'paused', 'not_started', 'expired', 'used_up'] as const;
export type EndedReason = (typeof endedReasons)[number];

/**
 * Unknown code 404; its record damaged 503; too many unknown codes 429; not GET or HEAD 405; links that may be old 503.
 */
export const errorPageKinds = [
  'unknown',
  ...endedReasons,
  'damaged',
  'throttled',
  'method',
  'stale',
] as const;
export type ErrorPageKind = (typeof errorPageKinds)[number];

export interface ErrorPage {
  readonly status: number;
  readonly html: string;
  readonly json: string;
}

interface Words {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly text: string;
  readonly help: string;
}

const words: Record<ErrorPageKind, Words> = {
  unknown: {
    status: 404,
    code: 'not_found',
    title: 'This code leads nowhere',
    text: 'The link in this code was not found. It may have been misprinted, or read wrongly.',
    help: 'Please scan it once more, a little closer and in good light.',
  },
  deleted: {
    status: 410,
    code: 'gone',
    title: 'This code has ended',
    text: 'It was in use for a while and has since been switched off. Your phone read it correctly.',
    help: 'The people who put it up can tell you where to go instead.',
  },
  paused: {
    status: 410,
    code: 'paused',
    title: 'This code is paused',
    text: 'It has been switched off for a while. Your phone read it correctly.',
    help: 'Please try again later, or ask the people who put it up.',
  },
  not_started: {
    status: 404,
    code: 'not_started',
    title: 'This code has not begun yet',
    text: 'You are early: where it leads opens later. Your phone read it correctly.',
    help: 'Please scan it again later. The people who put it up can tell you when.',
  },
  expired: {
    status: 410,
    code: 'expired',
    title: 'This code has expired',
    text: 'It was valid for a limited time, which is over. Your phone read it correctly.',
    help: 'The people who put it up can tell you where to go instead.',
  },
  used_up: {
    status: 410,
    code: 'used_up',
    title: 'This code is used up',
    text: 'It could be scanned a limited number of times, and all of them are used. Your phone read it correctly.',
    help: 'The people who put it up can tell you where to go instead.',
  },
  damaged: {
    status: 503,
    code: 'data_damaged',
    title: 'This code cannot be opened right now',
    text: 'Your phone read it correctly, but where it leads could not be looked up safely.',
    help: 'Please try again later. The people who put it up can tell you where to go meanwhile.',
  },
  throttled: {
    status: 429,
    code: 'rate_limited',
    title: 'One moment, please',
    text: 'Many codes were tried from your network in a short time, so we are taking a short break.',
    help: 'Please scan the code again in a minute.',
  },
  method: {
    status: 405,
    code: 'method_not_allowed',
    title: 'This address is for scanning',
    text: 'It can be opened, but nothing can be sent to it.',
    help: 'Please open it with the camera of a phone, or in a browser.',
  },
  stale: {
    status: 503,
    code: 'links_may_be_old',
    title: 'One moment, please',
    text: 'Your phone read the code correctly, but where it leads now could not be confirmed.',
    help: 'Please scan it once more in a few seconds.',
  },
};

/** A viewfinder with a dash: nothing was found here. */
const drawing =
  '<svg viewBox="0 0 24 24" aria-hidden="true">' +
  '<path d="M2 7V2h5M17 2h5v5M22 17v5h-5M7 22H2v-5"/><path d="M9 12h6"/></svg>';

const style =
  ':root{color-scheme:light dark;--b:#f6f6f3;--t:#1b1c1e;--s:#4a4d52;--l:#5f646b}' +
  '@media(prefers-color-scheme:dark){:root{--b:#131416;--t:#f2f2ef;--s:#b9bdc3;--l:#a6abb2}}' +
  '*{box-sizing:border-box;margin:0}' +
  'body{min-height:100vh;min-height:100svh;display:grid;place-content:center;justify-items:center;' +
  'padding:2rem 1.5rem;background:var(--b);color:var(--s);text-align:center;' +
  'font:1.0625rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}' +
  'main{max-width:25rem}' +
  'svg{width:4.5rem;margin-bottom:1.5rem;fill:none;stroke:var(--l);stroke-width:1.5;' +
  'stroke-linecap:round;stroke-linejoin:round}' +
  'h1{color:var(--t);font-size:1.625rem;line-height:1.25;letter-spacing:-.01em;margin-bottom:.75rem;' +
  'text-wrap:balance}' +
  'p{text-wrap:balance}p+p{margin-top:.75rem;color:var(--t)}';

const styleHash = createHash('sha256').update(style).digest('base64');

/** The `Content-Security-Policy` of every page here. */
export const errorPagePolicy =
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; ` +
  `frame-ancestors 'none'`;

/** The page of a kind, as HTML for people and as a problem document (RFC 9457) for programs. */
export const errorPage = (kind: ErrorPageKind): ErrorPage => pages[kind];

const pages: Readonly<Record<ErrorPageKind, ErrorPage>> = {
  unknown: makePage('unknown'),
  deleted: makePage('deleted'),
  paused: makePage('paused'),
  not_started: makePage('not_started'),
  expired: makePage('expired'),
  used_up: makePage('used_up'),
  damaged: makePage('damaged'),
  throttled: makePage('throttled'),
  method: makePage('method'),
  stale: makePage('stale'),
};

function makePage(kind: ErrorPageKind): ErrorPage {
  const { status, code, title, text, help } = words[kind];
  const html =
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width,initial-scale=1">' +
    '<meta name="robots" content="noindex">' +
    `<title>${title}</title><style>${style}</style></head>` +
    `<body><main>${drawing}<h1>${title}</h1><p>${text}</p><p>${help}</p></main></body></html>`;
  const json = JSON.stringify({ type: 'about:blank', title, status, detail: text, code });
  return { status, html, json };
}
