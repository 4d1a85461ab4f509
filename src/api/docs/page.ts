/**
 * The frame of the pages that work without the dashboard. Their content security policy allows this style sheet,
 * named by its hash, and the icon: no script, no form, nothing to fetch. So they work offline and leak nothing.
 */
import { createHash } from 'node:crypto';
import type { Reply } from '../../http/request.ts';
import { pageStyle } from './page-style.ts';

const styleHash = createHash('sha256').update(pageStyle).digest('base64');
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f6b5c"/><path fill="#fff" d="M8 8h7v7H8zm2 2v3h3v-3zm7-2h7v7h-7zm2 2v3h3v-3zM8 17h7v7H8zm2 2v3h3v-3zm7-2h3v3h-3zm4 3h3v4h-7v-3h4z"/></svg>`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headers = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policy,
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/** The logo, as markup. */
export const logo = icon;

/** @param body markup, with `escapeHtml` applied to every text that is not ours */
export function pageReply(title: string, body: string): Reply {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:image/svg+xml;base64,${Buffer.from(icon).toString('base64')}">
<style>${pageStyle}</style>
</head>
<body>
${body}
</body>
</html>
`;
  return { status: 200, headers, body: html };
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? char);
}
