/**
 * The search index of the pages under /docs: operations, fields, errors and the sections of the guides. A field that
 * occurs several times is listed once, at its first place.
 */
import type { OpenApi } from '../openapi/document.ts';
import { operationOf } from '../openapi/read.ts';
import { problemKinds } from '../kernel/problem.ts';
import type { Route } from '../kernel/route.ts';
import type { Guide } from './guides.ts';
import type { ShownField } from './schema-markup.ts';

export interface SearchEntry {
  readonly title: string;
  readonly where: string;
  readonly text: string;
  readonly href: string;
}

/** Results of equal score keep this order: operations, guides, errors, fields. */
export function searchEntries(
  document: OpenApi,
  routes: readonly Route[],
  fields: readonly ShownField[],
  guides: readonly Guide[],
): SearchEntry[] {
  const operations = routes.map((route) => ({
    title: route.summary,
    where: `${route.method} /v1${route.path} ${route.operationId}`,
    text: plain(operationOf(document, route).description ?? ''),
    href: `/docs#${route.operationId}`,
  }));
  const sections = guides.flatMap(({ path, document: guide }) =>
    guide.sections.map(({ id, text, content }) => ({
      title: plain(text),
      where: guide.title,
      text: plain(content),
      href: `${path}#${id}`,
    })),
  );
  const errors = Object.entries(problemKinds).map(([code, { status, title, meaning }]) => ({
    title: code,
    where: `Error ${status}: ${title}`,
    text: plain(meaning),
    href: `/docs/api#${code}`,
  }));
  const known = Map.groupBy(fields.map(fieldEntry), ({ title, text }) => `${title} ${text}`);
  const first = [...known.values()].flatMap(([entry = []]) => entry);
  return [...operations, ...sections, ...errors, ...first];
}

function fieldEntry({ id, name, type, text }: ShownField): SearchEntry {
  const [operation = '', ...path] = id.split('.');
  const parent = path.slice(0, -1).join('.');
  return {
    title: name,
    where: `${operation} ${parent}, ${type}`,
    text: plain(text),
    href: `/docs#${id}`,
  };
}

/** Without the marks of Markdown. */
function plain(text: string): string {
  return text
    .replace(/\[([^\]]+)\]\([^)\s]+\)/g, '$1')
    .replace(/[`*|]+|^#+ |^(?:-{3,}|~{3})/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}
