/**
 * The frame of the pages under /docs. Their content security policy allows this style sheet and
 * this script, named by their hashes, the icon, and the search index of this host: no form, no other origin.
 * They work without the script, which only adds search and copy buttons.
 */
import { createHash } from 'node:crypto';
import type { Reply } from '../../platform/uws/request.ts';
import { escapeHtml } from '../../model/text.ts';
import { shipped } from '../../platform/shipped.ts';
import { pageStyle } from './page-style.ts';

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const script = shipped.text('page.js');
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f6b5c"/><path fill="#fff" d="M8 8h7v7H8zm2 2v3h3v-3zm7-2h7v7h-7zm2 2v3h3v-3zM8 17h7v7H8zm2 2v3h3v-3zm7-2h3v3h-3zm4 3h3v4h-7v-3h4z"/></svg>`;

const policy = [
  "default-src 'none'",
  `style-src ${hashOf(pageStyle)}`,
  `script-src ${hashOf(script)}`,
  "connect-src 'self'",
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

/** The start of the navigation of every page under /docs: search, which needs the script, and contents. */
export function navigationFrame(contents: string): string {
  return `<a class="brand" href="/">${icon}Quietzone</a>
<div class="search" role="search" hidden>
<input type="search" placeholder="Search   Ctrl K" aria-keyshortcuts="Control+K Meta+K" aria-label="Search operations, fields and guides" role="combobox" aria-expanded="false" aria-controls="found" aria-autocomplete="list" autocomplete="off" spellcheck="false" maxlength="100">
<div id="found" role="listbox" aria-label="Found" hidden></div>
<p role="status"></p>
</div>
<details class="contents" open><summary>Contents</summary>
${contents}
</details>`;
}

/** @param body markup, whose foreign texts are escaped */
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
<script type="module">${script}</script>
</body>
</html>
`;
  return { status: 200, headers, body: html };
}
