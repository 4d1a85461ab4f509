/** An operation on the reference page: what it takes, what it answers, and how to call it. */
import { escapeHtml } from '../../model/text.ts';
import type { oas31 } from 'zod-openapi';
import { exampleIn, operationOf, resolve } from '../openapi/read.ts';
import { problemKinds } from '../kernel/problem.ts';
import type { Access, Route } from '../kernel/route.ts';
import { inline } from './markdown.ts';
import { type FieldMarkup, fieldsOf } from './schema-markup.ts';

const jsonType = 'application/json';
/** Headers of every answer, which the basics describe. */
const everyHeader = /^X-/;

export function operationMarkup(markup: FieldMarkup, route: Route): string {
  const { access, operationId, method, path, summary, description, fileOf } = route;
  const described = operationOf(markup.document, route);
  return `<article class="operation ${method.toLowerCase()}" id="${operationId}">
<h3><a href="#${operationId}">${escapeHtml(summary)}</a></h3>
<div class="address">${verb(route)}<code>/v1${escapeHtml(path)}</code>
<span class="role">${accessText(access)}</span></div>
<p>${inline(description)}</p>
${fileOf === undefined ? parameters(markup, described, operationId) : ''}
${body(markup, described, operationId)}
${answer(markup, described, route)}
${refusals(route)}
<details><summary>As curl</summary><pre>${code(curl(markup, described, route))}</pre></details>
</article>`;
}

export function verb({ method }: Route): string {
  const name = method.toLowerCase();
  return `<span class="verb ${name}">${name === 'delete' ? 'del' : name}</span>`;
}

function accessText(access: Access): string {
  if (access === 'public') return 'no key';
  if (access === 'person') return 'signed in';
  return access === 'signed' ? 'signed, no key' : `${access} and above`;
}

const parametersOf = (
  { document }: FieldMarkup,
  { parameters = [] }: oas31.OperationObject,
): oas31.ParameterObject[] =>
  parameters.map((parameter) => resolve<oas31.ParameterObject>(document, parameter));

function parameters(markup: FieldMarkup, described: oas31.OperationObject, place: string): string {
  const fields = parametersOf(markup, described)
    .filter((parameter) => parameter.in !== 'path')
    .map((parameter) => ({
      name: parameter.name,
      isRequired: parameter.required === true,
      schema: parameter.schema ?? {},
      description: parameter.description,
    }));
  if (fields.length === 0) return '';
  return `<p class="caption">Parameters</p>${markup.rows(fields, `${place}.query`)}`;
}

function body(markup: FieldMarkup, { requestBody }: oas31.OperationObject, place: string): string {
  if (requestBody === undefined || !('content' in requestBody)) return '';
  const schema = requestBody.content[jsonType]?.schema;
  if (schema === undefined) return '';
  const known = fieldsOf(markup.document, schema);
  const fields =
    known.length > 0
      ? known
      : [{ name: 'body', isRequired: requestBody.required === true, schema }];
  const rows = markup.rows(fields, known.length > 0 ? `${place}.body` : place);
  return `<p class="caption">Body</p>${rows}`;
}

function answer(markup: FieldMarkup, described: oas31.OperationObject, route: Route): string {
  const { status, what, known } = route.answer;
  const response: oas31.ResponseObject | oas31.ReferenceObject =
    described.responses?.[status] ?? {};
  const { content = {}, headers = {} } = resolve<oas31.ResponseObject>(markup.document, response);
  const media = content[jsonType];
  const own = Object.keys(headers).filter((name) => !everyHeader.test(name));
  const types = Object.keys(content).filter((type) => type !== jsonType);
  const notes = [
    ...(types.length === 0
      ? []
      : [`${media === undefined ? 'As' : 'Also as'} ${types.map(code).join(', ')}.`]),
    ...(own.length === 0 ? [] : [`Headers: ${own.map(code).join(', ')}.`]),
  ];
  const text = media === undefined ? textExample(content) : exampleIn(markup.document, media);
  const shown = typeof text === 'string' ? text : JSON.stringify(text, undefined, 2);
  return `<p class="caption">Answer ${status}</p>
<p>${inline(what)}. ${known === undefined ? '' : `200: ${inline(known)}. `}${notes.join(' ')}</p>
${text === undefined ? '' : `<pre>${code(shown)}</pre>`}
${media?.schema === undefined ? '' : markup.folded(media.schema, `${route.operationId}.answer`)}`;
}

function textExample(content: oas31.ContentObject): unknown {
  return Object.values(content).find(({ example }) => example !== undefined)?.example;
}

/** Does not escape quotation marks, which saves 25 KB. */
function code(text: string): string {
  return `<code>${escapeHtml(text).replaceAll('&quot;', '"')}</code>`;
}

function refusals({ failures }: Route): string {
  if (failures.length === 0) return '';
  const links = failures.map(
    (name) => `<a href="/docs/api#${name}">${problemKinds[name].status} ${code(name)}</a>`,
  );
  return `<p class="soft">Errors in addition to the general ones: ${links.join(', ')}.</p>`;
}

function curl(markup: FieldMarkup, described: oas31.OperationObject, route: Route): string {
  const { access, method, path } = route;
  const server = markup.document.servers?.[0]?.url ?? '';
  const given = parametersOf(markup, described);
  const exampleOf = (name: string): string => {
    const schema = given.find((parameter) => parameter.name === name)?.schema ?? {};
    const { examples = [], enum: words = [] } = resolve(markup.document, schema);
    return String(examples[0] ?? words[0] ?? name);
  };
  const address = path.replace(/:(\w+)/g, (_, name: string) => exampleOf(name));
  const musts = given.filter((parameter) => parameter.in === 'query' && parameter.required);
  const query = musts.map(({ name }) => `${name}=${exampleOf(name)}`).join('&');
  const { requestBody } = described;
  const media =
    requestBody !== undefined && 'content' in requestBody
      ? requestBody.content[jsonType]
      : undefined;
  const sent = media === undefined ? undefined : JSON.stringify(exampleIn(markup.document, media));
  const isImplied = method === 'GET' || (method === 'POST' && sent !== undefined);
  const lines = [
    `curl ${isImplied ? '' : `-X ${method} `}"${server}${address}${query === '' ? '' : `?${query}`}"`,
    ...credentials(access),
    ...(sent === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${sent}'`]),
  ];
  return lines.join(' \\\n  ');
}

function credentials(access: Access): string[] {
  if (access === 'public' || access === 'signed') return [];
  if (access !== 'person') return ['-H "Authorization: Bearer $API_KEY"'];
  return ['-H "Cookie: $SESSION_COOKIE"', '-H "X-CSRF-Token: $CSRF_TOKEN"'];
}
