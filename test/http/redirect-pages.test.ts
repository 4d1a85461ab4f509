/** Pages over real sockets: in the reader's language, with what the workspace says now, in every thread. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PageChanges } from '../../src/http/pages.ts';
import type { WorkspacePages } from '../../src/model/routing/pages.ts';
import { linkOf } from '../links/table.ts';
import { soon } from '../support/soon.ts';
import { type RedirectHarness, startRedirects } from './redirect-harness.ts';

const bakery: WorkspacePages = {
  brand: { name: 'Bakery', supportUrl: 'mailto:ask@bakery.example' },
  texts: { expired: { de: { title: 'Das Angebot ist vorbei', text: 'Bis zum nächsten Mal.' } } },
};
const rootUrl = 'https://example.com/caf%C3%A9?a=1';

let harness: RedirectHarness;
let pages: PageChanges = [[4, bakery]];
beforeAll(async () => {
  harness = await startRedirects({
    file: new URL('./mortal-redirect.worker.ts', import.meta.url),
    pages: () => pages,
    settings: {
      QZ_REDIRECT_ROOT_URL: rootUrl,
      QZ_PAGES_BRAND_NAME: 'Our host',
      QZ_PAGES_SUPPORT_URL: 'https://host.example/help',
    },
  });
  const expired = { expiresAtMs: 1_000 };
  harness.links.put(linkOf('EXPIRED1', { codeNo: 1, workspaceNo: 4, ...expired }));
  harness.links.put(linkOf('DELETED1', { codeNo: 2, workspaceNo: 4 }));
  harness.links.delete('DELETED1');
  harness.links.put(linkOf('EXPIRED2', { codeNo: 3, workspaceNo: 5, ...expired }));
});
afterAll(() => harness.close());

async function ask(path: string, language?: string, method = 'GET') {
  const headers = language === undefined ? undefined : { 'Accept-Language': language };
  const url = `http://127.0.0.1:${harness.port}${path}`;
  const answer = await fetch(url, { method, redirect: 'manual', ...(headers && { headers }) });
  return { status: answer.status, headers: answer.headers, html: await answer.text() };
}

describe('a page', () => {
  it.each([
    ['fr-CA,fr;q=0.9,en;q=0.8', 'fr', 'Ce code ne mène nulle part'],
    ['ja', 'ja', 'このコードのリンク先が見つかりません'],
    ['tr-TR', 'tr', 'Bu kod hiçbir yere götürmüyor'],
    ['sv', 'en', 'This code leads nowhere'],
    ['"><script>', 'en', 'This code leads nowhere'],
  ])('is in the language of its reader: %s', async (header, language, title) => {
    const { status, headers, html } = await ask('/NOTHERE1', header);
    expect(status).toBe(404);
    expect(headers.get('content-language')).toBe(language);
    expect(headers.get('vary')).toBe('Accept, Accept-Language');
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(html)));
    expect(html).toContain(`<html lang="${language}">`);
    expect(html).toContain(`<title>${title}</title>`);
  });

  it('has what the workspace of the code says; unknown codes what the installation does', async () => {
    const expired = await ask('/EXPIRED1', 'de-AT,de;q=0.9');
    expect(expired.status).toBe(410);
    expect(expired.html).toMatch(/Bakery.*Das Angebot ist vorbei.*Bis zum nächsten Mal/);
    expect(expired.html).toContain('href="mailto:ask@bakery.example"');
    // A tombstone keeps its workspace.
    const deleted = await ask('/DELETED1', 'de');
    expect(deleted.html).toMatch(/Bakery.*Diesen Code gibt es nicht mehr/);
    for (const path of ['/EXPIRED2', '/NOTHERE1']) {
      const { html } = await ask(path, 'de');
      expect(html).toMatch(/Our host.*https:\/\/host\.example\/help/);
      expect(html).not.toContain('Bakery');
    }
  });

  it('has what is said now, also after its thread was started again', async () => {
    const titleNow = async (): Promise<boolean> =>
      (await ask('/EXPIRED1', 'de')).html.includes('>Neu</h1>');
    const texts = { expired: { de: { title: 'Neu', text: 'x' } } };
    pages = [[4, { brand: {}, texts }]];
    harness.redirects.updatePages(pages);
    await expect.poll(titleNow, soon).toBe(true);
    harness.send(0, { kind: 'exit' });
    await expect.poll(() => harness.deaths().length, soon).toBe(1);
    await expect.poll(() => harness.areListening(), soon).toBe(true);
    expect(await titleNow()).toBe(true);
    pages = [[4, undefined]];
    harness.redirects.updatePages(pages);
    await expect.poll(titleNow, soon).toBe(false);
  });
});

describe('the root of the short domain', () => {
  it('leads where the installation says, and is no scan', async () => {
    const before = harness.scans().length;
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await ask('/?utm=1', undefined, method);
      expect([status, headers.get('location')]).toEqual([302, rootUrl]);
      expect(headers.get('cache-control')).toBe('private, no-store');
    }
    expect((await ask('/', undefined, 'POST')).status).toBe(405);
    expect(harness.scans()).toHaveLength(before);
  });
});
