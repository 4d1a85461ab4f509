/**
 * /v1/openapi.json and the pages under /docs. Each is made on its first request and then reused, so a start does not wait
 * for them.
 */
import type { Reply } from '../../platform/uws/request.ts';
import { createOpenApi } from '../openapi/document.ts';
import type { Result, Route } from '../kernel/route.ts';
import { Router } from '../kernel/router.ts';
import { guidePage, readGuides } from './guides.ts';
import { referencePage } from './reference-page.ts';
import { searchEntries } from './search-index.ts';

export interface DocsOptions {
  /** Address of dashboard and API, without /v1. */
  readonly publicUrl: string;
  /** Address of short links. */
  readonly shortUrlBase: string;
}

export class Docs {
  readonly openApi: () => Result;
  readonly #pages: ReadonlyMap<string, () => Reply>;
  readonly #guides: () => ReadonlyMap<string, Reply>;

  constructor(routes: readonly Route[], options: DocsOptions) {
    const document = once(() => createOpenApi(routes, options.publicUrl));
    const hrefOfOperation = operationLinks(routes);
    const guides = once(() => readGuides({ ...options, hrefOfOperation }));
    const reference = once(() => referencePage(document(), routes, guides()));
    const search = once(() =>
      jsonReply(searchEntries(document(), routes, reference().fields, guides())),
    );
    this.openApi = once(() => jsonReply(document()));
    this.#pages = new Map([
      ['/docs', () => reference().reply],
      ['/docs/search.json', search],
    ]);
    this.#guides = once(
      () => new Map(guides().map((guide) => [guide.path, guidePage(guide, guides())])),
    );
  }

  find(path: string): Reply | undefined {
    const page = this.#pages.get(path)?.();
    return page ?? (path.startsWith('/docs/') ? this.#guides().get(path) : undefined);
  }
}

/** Address of an operation in the reference. */
const operationLink = ({ operationId }: Route): string => `/docs#${operationId}`;

/** @returns takes `POST /v1/webhooks/{id}/test`; a query may follow */
function operationLinks(routes: readonly Route[]): (operation: string) => string | undefined {
  const router = new Router(routes);
  return (operation) => {
    const [, method = '', path = ''] = /^([A-Z]+) \/v1(\/[^?\s]*)/.exec(operation) ?? [];
    const match = router.match(method, path);
    return match.kind === 'route' ? operationLink(match.route) : undefined;
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function jsonReply(value: unknown): Result {
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' };
  return { status: 200, headers, body: JSON.stringify(value) };
}
