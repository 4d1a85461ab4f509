/**
 * /docs: the API reference, drawn on the server from the OpenAPI document.
 *
 * Bundles that do this in the browser weigh 1 to 3 MB, need `unsafe-inline` styles or more, and show
 * nothing without JavaScript. This page is about 100 KB, has no script, prints, and can be searched.
 */
import type { Reply } from '../../http/request.ts';
import { roles } from '../../model/workspace.ts';
import { firstRequest } from './front-page.ts';
import type { OpenApi } from '../openapi/document.ts';
import { guideLinks, readGuide } from './guides.ts';
import { anchor, type Document, inline, renderMarkdown } from './markdown.ts';
import { escapeHtml, logo, pageReply } from './page.ts';
import { problemKinds } from '../problem.ts';
import { type Access, operationAccess } from '../roles.ts';
import type { Route } from '../route.ts';
import { exampleOf, fieldRows, parseSchema, resolve, type Schema } from './schema-markup.ts';

export function referencePage(document: OpenApi, routes: readonly Route[]): Reply {
  const tags = [...new Set(routes.map((route) => route.tag))];
  const server = document.servers?.[0]?.url ?? '';
  const groups = tags.map((tag) => {
    const items = routes.filter((route) => route.tag === tag);
    const markup = items.map((route) => operation(document, route, server)).join('\n');
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
  return pageReply('Quietzone API reference', body);
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
  return `<a class="brand" href="/">${logo}Quietzone</a>
<h4>Basics</h4><ul>${contents.join('\n')}</ul>
${groups.join('\n')}
${guideLinks}
<h4>Machine-readable</h4><ul><li><a href="/v1/openapi.json">openapi.json</a></li></ul>`;
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

function operation(document: OpenApi, route: Route, server: string): string {
  const item = document.paths?.[route.path.replace(/:(\w+)/g, '{$1}')];
  const described = item?.[methodKey(route)];
  const parameters = (described?.parameters ?? []).flatMap((parameter) =>
    'name' in parameter && parameter.in !== 'path' ? [parameter] : [],
  );
  const request = described?.requestBody;
  const bodySchema =
    request !== undefined && 'content' in request
      ? parseSchema(request.content['application/json']?.schema)
      : undefined;
  const answer: unknown = described?.responses?.[route.answer.status];
  const answerSchema = contentSchema(answer);
  const rows = parameters.map((parameter) => ({
    name: parameter.name,
    isRequired: parameter.required === true,
    schema: parseSchema(parameter.schema) ?? {},
    description: parameter.description,
  }));
  return `<article class="operation ${route.method.toLowerCase()}" id="${route.operationId}">
<h3>${escapeHtml(route.summary)}</h3>
<div class="address">${verb(route)}<code>/v1${escapeHtml(route.path)}</code>
<span class="role">${accessText(operationAccess[route.operationId])}</span></div>
<p>${inline(route.description)}</p>
${rows.length === 0 ? '' : `<p class="caption">Parameters</p>${fieldRows(document, rows)}`}
${bodySchema === undefined ? '' : `<p class="caption">Body</p>${bodyTable(document, bodySchema)}`}
<p class="caption">Answer ${route.answer.status}</p>
<p>${inline(route.answer.what)}.</p>
${answerSchema === undefined ? '' : answerMarkup(document, answerSchema)}
${route.failures.length === 0 ? '' : `<p class="soft">Errors beside the general ones: ${failureLinks(route)}.</p>`}
${curl(route, server)}
</article>`;
}

function accessText(access: Access): string {
  if (access === 'public') return 'no key';
  if (access === 'person') return 'signed in';
  return access === 'signed' ? 'signed, no key' : `${access} and above`;
}

function bodyTable(document: OpenApi, schema: Schema): string {
  const whole = resolve(document, schema);
  const rows = Object.entries(whole.properties ?? {}).map(([name, field]) => ({
    name,
    isRequired: whole.required?.includes(name) === true,
    schema: field,
    description: undefined,
  }));
  return fieldRows(document, rows);
}

function answerMarkup(document: OpenApi, schema: Schema): string {
  const example = JSON.stringify(exampleOf(document, schema), undefined, 2);
  return `<pre><code>${escapeHtml(example)}</code></pre>
<details><summary>Fields</summary>${bodyTable(document, schema)}</details>`;
}

function contentSchema(answer: unknown): Schema | undefined {
  if (typeof answer !== 'object' || answer === null || !('content' in answer)) return undefined;
  const { content } = answer;
  if (typeof content !== 'object' || content === null) return undefined;
  if (!('application/json' in content)) return undefined;
  const media = content['application/json'];
  if (typeof media !== 'object' || media === null || !('schema' in media)) return undefined;
  return parseSchema(media.schema);
}

const sampleBodies: Readonly<Record<string, string>> = {
  createQrCode: '{"target": "https://example.com/menu", "name": "Table 12", "tags": ["menu"]}',
  createQrCodes: '[{"target": "https://example.com/1"}, {"target": "https://example.com/2"}]',
  updateQrCode: '{"target": "https://example.com/winter-menu"}',
  replaceQrCode: '{"target": "https://example.com/winter-menu", "name": "Table 12"}',
  signIn: '{"email": "jane@example.com", "password": "…"}',
  changePassword: '{"oldPassword": "…", "newPassword": "…"}',
  createWorkspace: '{"name": "Second shop"}',
  updateWorkspace: '{"name": "First shop"}',
  createApiKey: '{"name": "Shop", "role": "editor"}',
  rotateApiKey: '{"overlapSeconds": 3600}',
  createInvite: '{"email": "jane@example.com", "role": "editor"}',
  acceptInvite: '{"token": "…", "name": "Jane", "password": "…"}',
  updateMember: '{"role": "admin"}',
  openCheckout: '{"plan": "pro", "interval": "month"}',
  changeSubscription: '{"plan": "business"}',
  cancelSubscription: '{"reason": "The campaign is over"}',
  createWebhook: '{"url": "https://example.com/hooks/qr", "events": ["qr.scanned"]}',
  updateWebhook: '{"enabled": true}',
  rotateWebhookSecret: '{"overlapSeconds": 3600}',
  testWebhook: '{"event": "qr.scanned"}',
  replayDeadLetters: '{"from": "2026-03-01", "to": "2026-03-07"}',
};

const sampleIds: ReadonlyArray<readonly [start: string, prefix: string]> = [
  ['/api-keys', 'key'],
  ['/billing', 'chk'],
  ['/team/invites', 'inv'],
  ['/team/members', 'usr'],
  ['/webhooks/dead-letters', 'dlv'],
  ['/webhooks/deliveries', 'dlv'],
  ['/webhooks', 'whk'],
  ['/workspaces', 'ws'],
];

function sampleId(path: string): string {
  const prefix = sampleIds.find(([start]) => path.startsWith(start))?.[1] ?? 'qr';
  return `${prefix}_01k3zq8m4hd2v7c5x9ab`;
}

function credentials(access: Access): string[] {
  if (access === 'public' || access === 'signed') return [];
  if (access !== 'person') return ['-H "Authorization: Bearer $API_KEY"'];
  return ['-H "Cookie: $SESSION_COOKIE"', '-H "X-CSRF-Token: $CSRF_TOKEN"'];
}

function curl(route: Route, server: string): string {
  const address = `${server}${route.path.replace(/:\w+/, sampleId(route.path))}`;
  const needs = route.operationId === 'getBreakdown' ? '?by=country' : '';
  const body = sampleBodies[route.operationId];
  const isImplied = route.method === 'GET' || (route.method === 'POST' && body !== undefined);
  const lines = [
    `curl ${isImplied ? '' : `-X ${route.method} `}"${address}${needs}"`,
    ...credentials(operationAccess[route.operationId]),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${body}'`]),
  ];
  return `<details><summary>As curl</summary><pre><code>${escapeHtml(lines.join(' \\\n  '))}</code></pre></details>`;
}

function problems(): string {
  const rows = Object.entries(problemKinds).map(
    ([code, { status, meaning }]) =>
      `<tr id="error-${code}"><td>${status} <code>${code}</code></td><td>${inline(meaning)}</td></tr>`,
  );
  return `<section><h2 id="errors">Errors</h2>
<p>Errors are <code>application/problem+json</code> (RFC 9457). Branch on <code>code</code>, which does
not change; show <code>detail</code> and <code>errors</code> to people.</p>
<div class="wide"><table><thead><tr><th>Status and code</th><th>Meaning</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div></section>`;
}

function failureLinks(route: Route): string {
  const links = route.failures.map(
    (code) => `<a href="#error-${code}">${problemKinds[code].status} <code>${code}</code></a>`,
  );
  return links.join(', ');
}

function verb(route: Route): string {
  const name = route.method.toLowerCase();
  return `<span class="verb ${name}">${name === 'delete' ? 'del' : name}</span>`;
}

function methodKey(route: Route): 'get' | 'post' | 'patch' | 'put' | 'delete' {
  const keys = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;
  return keys[route.method];
}
