/**
 * /docs: the API reference, drawn on the server from the OpenAPI document.
 *
 * Bundles that do this in the browser have 1 to 3 MB, need `unsafe-inline` styles or more, and show
 * nothing without JavaScript. This page has about 450 KB, works and prints without a script, and gets its search and
 * its copy buttons from a script of 5 KB.
 */
import { escapeHtml } from '../../model/text.ts';
import type { Reply } from '../../platform/uws/request.ts';
import { roles } from '../../model/workspace.ts';
import type { OpenApi } from '../openapi/document.ts';
import { guideLinks, readGuide } from './guides.ts';
import { anchor, type Document, inline, renderMarkdown } from './markdown.ts';
import { navigationFrame, pageReply } from './page.ts';
import { problemKinds } from '../kernel/problem.ts';
import type { Route } from '../kernel/route.ts';
import { operationMarkup, verb } from './operation-markup.ts';
import { FieldMarkup, type ShownField } from './schema-markup.ts';

export interface ReferencePage {
  readonly reply: Reply;
  /** For the search index. */
  readonly basics: Document;
  readonly fields: readonly ShownField[];
}

export function referencePage(document: OpenApi, routes: readonly Route[]): ReferencePage {
  const tags = [...new Set(routes.map((route) => route.tag))];
  const server = document.servers?.[0]?.url ?? '';
  const fields = new FieldMarkup(document);
  const groups = tags.map((tag) => {
    const items = routes.filter((route) => route.tag === tag);
    const markup = items.map((route) => operationMarkup(fields, route)).join('\n');
    return `<section><h2 id="${anchor(tag)}">${escapeHtml(tag)}</h2>\n${markup}</section>`;
  });
  const common = basics(server);
  const body = `<div class="shell">
<nav aria-label="Contents">${navigation(common, tags, routes)}</nav>
<main>
${common.html}
${groups.join('\n')}
${problems()}
</main>
</div>`;
  const reply = pageReply('Quietzone API reference', body);
  return { reply, basics: common, fields: fields.shown };
}

function navigation(
  { headings }: Document,
  tags: readonly string[],
  routes: readonly Route[],
): string {
  const contents = [...headings, { id: 'errors', text: 'Errors' }].map(
    ({ id, text }) => `<li><a href="#${id}">${text}</a></li>`,
  );
  const entry = (route: Route): string =>
    `<li><a href="#${route.operationId}">${verb(route)}${escapeHtml(route.summary)}</a></li>`;
  const groups = tags.map((tag) => {
    const items = routes.filter((route) => route.tag === tag).map(entry);
    return `<h4>${escapeHtml(tag)}</h4><ul>${items.join('')}</ul>`;
  });
  return navigationFrame(`<h4>Basics</h4><ul>${contents.join('\n')}</ul>
${groups.join('\n')}
${guideLinks}
<h4>Machine-readable</h4><ul><li><a href="/v1/openapi.json">openapi.json</a></li></ul>`);
}

/** What every operation has in common. */
function basics(server: string): Document {
  const publicUrl = server.replace(/\/v1$/, '');
  const source = readGuide('basics', {
    publicUrl,
    roles: roles.map((role) => `\`${role}\``).join(' > '),
    firstRequest: firstRequest(publicUrl),
  });
  return renderMarkdown(source);
}

/** The `curl` that creates a code. */
const firstRequest = (publicUrl: string): string => `curl ${publicUrl}/v1/qr-codes \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"target": "https://example.com/menu"}'`;

function problems(): string {
  const rows = Object.entries(problemKinds).map(
    ([code, { status, meaning }]) =>
      `<tr id="error-${code}"><td data-name="Status and code">${status} <code>${code}</code></td><td data-name="Meaning">${inline(meaning)}</td></tr>`,
  );
  return `<section><h2 id="errors">Errors</h2>
<p>Errors are <code>application/problem+json</code> (RFC 9457). Branch on <code>code</code>, which does
not change; show <code>detail</code> and <code>errors</code> to people.</p>
<div class="wide"><table><thead><tr><th>Status and code</th><th>Meaning</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div></section>`;
}
