/**
 * /v1/openapi.json and the pages under /docs. Each is made on its first request and then reused, so a start does not wait
 * for them.
 */
import type { Reply } from '../../platform/uws/request.ts';
import { createOpenApi } from '../openapi/document.ts';
import type { Result, Route } from '../kernel/route.ts';
import { type GuideOptions, guidePage, readGuides } from './guides.ts';
import { referencePage } from './reference-page.ts';
import { searchEntries } from './search-index.ts';

export class Docs {
  readonly openApi: () => Result;
  readonly #pages: ReadonlyMap<string, () => Reply>;
  readonly #guides: () => ReadonlyMap<string, Reply>;

  constructor(routes: readonly Route[], options: GuideOptions) {
    const document = once(() => createOpenApi(routes, options.publicUrl));
    const reference = once(() => referencePage(document(), routes));
    const guides = once(() => readGuides(options));
    const search = once(() => {
      const { basics, fields } = reference();
      const texts = [{ path: '/docs', document: basics }, ...guides()];
      return jsonReply(searchEntries(document(), routes, fields, texts));
    });
    this.openApi = once(() => jsonReply(document()));
    this.#pages = new Map([
      ['/docs', () => reference().reply],
      ['/docs/search.json', search],
    ]);
    this.#guides = once(() => new Map(guides().map((guide) => [guide.path, guidePage(guide)])));
  }

  find(path: string): Reply | undefined {
    const page = this.#pages.get(path)?.();
    return page ?? (path.startsWith('/docs/') ? this.#guides().get(path) : undefined);
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function jsonReply(value: unknown): Result {
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' };
  return { status: 200, headers, body: JSON.stringify(value) };
}
