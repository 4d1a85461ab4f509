/**
 * /docs: the API reference, drawn on the server from the OpenAPI document.
 *
 * Bundles that do this in the browser have 1 to 3 MB, need `unsafe-inline` styles or more, and show
 * nothing without JavaScript. This page has about 450 KB, works and prints without a script, and gets its search and
 * its copy buttons from a script of 5 KB.
 */
import { escapeHtml } from '../../model/text.ts';
import type { Reply } from '../../platform/uws/request.ts';
import type { OpenApi } from '../openapi/document.ts';
import { type Guide, guideNavigation } from './guides.ts';
import { headingId } from './markdown.ts';
import { navigationFrame, pageReply } from './page.ts';
import type { Route } from '../kernel/route.ts';
import { operationMarkup, verb } from './operation-markup.ts';
import { FieldMarkup, type ShownField } from './schema-markup.ts';

export interface ReferencePage {
  readonly reply: Reply;
  /** For the search index. */
  readonly fields: readonly ShownField[];
}

export function referencePage(
  document: OpenApi,
  routes: readonly Route[],
  guides: readonly Guide[],
): ReferencePage {
  const tags = [...new Set(routes.map((route) => route.tag))];
  const fields = new FieldMarkup(document);
  const groups = tags.map((tag) => {
    const items = routes.filter((route) => route.tag === tag);
    const markup = items.map((route) => operationMarkup(fields, route)).join('\n');
    return `<section><h2 id="${headingId(tag)}">${escapeHtml(tag)}</h2>\n${markup}</section>`;
  });
  const body = `<div class="shell">
<nav aria-label="Contents">${navigation(tags, routes, guides)}</nav>
<main>
<h1>API reference</h1>
<p><a href="/docs/api">API basics</a> says what all operations have in common.</p>
${groups.join('\n')}
</main>
</div>`;
  const reply = pageReply('Quietzone API reference', body);
  return { reply, fields: fields.shown };
}

function navigation(
  tags: readonly string[],
  routes: readonly Route[],
  guides: readonly Guide[],
): string {
  const entry = (route: Route): string =>
    `<li><a href="#${route.operationId}">${verb(route)}${escapeHtml(route.summary)}</a></li>`;
  const groups = tags.map((tag) => {
    const items = routes.filter((route) => route.tag === tag).map(entry);
    return `<h4>${escapeHtml(tag)}</h4><ul>${items.join('')}</ul>`;
  });
  return navigationFrame(`${groups.join('\n')}
${guideNavigation(guides)}
<h4>Machine-readable</h4><ul><li><a href="/v1/openapi.json">openapi.json</a></li></ul>`);
}
