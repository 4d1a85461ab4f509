/** The pages of short links: small, self-contained, allowed by their own policy, legible, in the language of their reader. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  errorPageKinds,
  errorProblem,
  errorStatus,
  type PageChanges,
  pageLanguages,
  Pages,
} from '../../../src/engine/redirect/pages.ts';
import { contrast, parseColor } from '../../../src/model/design/color.ts';
import {
  type Brand,
  brandLogoBytesMax,
  brandNameLengthMax,
  type EndedReason,
  endedReasons,
  pageTextLengthMax,
  pageTitleLengthMax,
  supportUrlLengthMax,
  type WorkspacePages,
} from '../../../src/model/routing/pages.ts';
import { linkOf } from '../links/table.ts';
import { anyText } from '../../model/any-text.ts';
import { soon } from '../../support/soon.ts';
import { type RedirectHarness, startRedirects } from './redirect-harness.ts';

const bytesMax = 5_120;
const styleOf = (html: string): string => /<style>(.*)<\/style>/s.exec(html)?.[1] ?? '';
const standard = new Pages({});

/** What a page of these settings is. */
function pageOf(pages: WorkspacePages, header = 'en', reason: EndedReason = 'expired') {
  const found = new Pages({});
  found.update([[7, pages]]);
  return found.find(reason, 7, header);
}

/** Contrasts of a page, by scheme. */
function contrastsOf(html: string): Array<{ readonly text: number; readonly accent: number }> {
  const schemes = [...styleOf(html).matchAll(/(--\w:#[\da-f]{3,6};?)+/g)];
  return schemes.map(([scheme]) => {
    const colors = new Map(
      [...scheme.matchAll(/(--\w):(#[\da-f]+)/g)].map(([, name, value]) => [name, value]),
    );
    const to = (name: string): number =>
      contrast(parseColor(colors.get('--b') ?? ''), parseColor(colors.get(name) ?? ''));
    return { text: Math.min(to('--t'), to('--s')), accent: to('--a') };
  });
}

describe.each(errorPageKinds)('a standard page: %s', (kind) => {
  it.each(pageLanguages)('in %s: small, self-contained, one heading', (language) => {
    const page = standard.find(kind, undefined, language);
    const { html } = page;
    expect(page.language).toBe(language);
    expect(html.startsWith(`<!doctype html><html lang="${language}">`)).toBe(true);
    expect(Buffer.byteLength(html)).toBeLessThan(3_072);
    expect(html).not.toMatch(/https?:|\/\/|src=|href=|url\(|@import|<script|\son\w+=|style="/);
    const title = /<title>(.*)<\/title>/.exec(html)?.[1];
    expect(html.match(/<h1 /g)).toHaveLength(1);
    expect(html).toContain(`>${title}</h1>`);
    // Made once.
    expect(standard.find(kind, 12, language)).toBe(page);
  });

  it('has a policy that allows its style sheet, by its hash, and nothing else', () => {
    const { html, policy } = standard.find(kind, undefined, '');
    const hash = createHash('sha256').update(styleOf(html)).digest('base64');
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
  });

  it('says the same in JSON, in English', () => {
    const problem: Record<string, unknown> = JSON.parse(errorProblem(kind));
    expect(problem).toMatchObject({ type: 'about:blank', status: errorStatus(kind) });
    expect(problem.code).toMatch(/^[a-z_]+$/);
    expect(standard.find(kind, undefined, 'en').html).toContain(String(problem.detail));
  });
});

it('standard pages have text of 7:1 and drawing of 3:1 or more, light and dark', () => {
  const schemes = contrastsOf(standard.find('unknown', undefined, '').html);
  expect(schemes).toHaveLength(2);
  for (const { text, accent } of schemes) {
    expect(text).toBeGreaterThanOrEqual(7);
    expect(accent).toBeGreaterThanOrEqual(3);
  }
});

describe('the language of a page with texts of its workspace', () => {
  const text = (title: string) => ({ title, text: `${title} text` });
  const texts = { expired: { 'de-CH': text('Grüezi'), sv: text('Hej'), ar: text('مرحبا') } };
  const pages = { brand: { supportUrl: 'tel:+491234' }, texts };

  it.each([
    ['de-CH,de;q=0.9', 'de-CH', 'Grüezi'],
    ['de', 'de-CH', 'Grüezi'],
    ['de-AT', 'de-CH', 'Grüezi'],
    ['sv-SE', 'sv', 'Hej'],
    ['ar', 'ar', 'مرحبا'],
    ['fr', 'fr', 'Ce code a expiré'],
    ['', 'en', 'This code has expired'],
    ['fi', 'en', 'This code has expired'],
  ])('%s: %s', (header, language, title) => {
    const page = pageOf(pages, header);
    expect(page.language).toBe(language);
    expect(page.html).toContain(`>${title}</h1>`);
    expect(page.html).toContain(`<html lang="${language}">`);
  });

  it('has a standard text where the reason has none, and names the language of the link', () => {
    expect(pageOf(pages, 'sv', 'paused').language).toBe('en');
    expect(pageOf(pages, 'de', 'paused').html).toContain('Pause');
    expect(pageOf(pages, 'sv').html).toContain(
      '<a href="tel:+491234" rel="noreferrer" lang="en">Contact us</a>',
    );
    expect(pageOf(pages, 'de').html).toContain('lang="de">Kontakt aufnehmen</a>');
  });
});

const pixel = (length: number): string =>
  `data:image/webp;base64,${Buffer.alloc(length, 7).toString('base64')}`;

describe('a page with a brand', () => {
  it('allows its picture, which is in the page, and no other', () => {
    const { html, policy } = pageOf({
      brand: { logo: pixel(9), name: 'Bäckerei "Süß"' },
      texts: {},
    });
    expect(html).toContain(`<img src="${pixel(9)}" alt="Bäckerei &quot;Süß&quot;">`);
    expect(html).not.toContain('<svg');
    expect(policy).toContain('; img-src data:; ');
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(pageOf({ brand: { name: 'x' }, texts: {} }).policy).not.toContain('img-src');
  });

  it('has at most 5 KB for the longest that fits, in whatever letters', () => {
    // A letter of three bytes takes most for its length in text, and no address has one.
    const long = (length: number): string => '語'.repeat(length);
    const brand: Brand = {
      name: long(brandNameLengthMax),
      logo: pixel(brandLogoBytesMax),
      colour: '#abcdef',
      supportUrl: `https://e.co/${'a'.repeat(supportUrlLengthMax - 13)}`,
    };
    const text = { title: long(pageTitleLengthMax), text: long(pageTextLengthMax) };
    for (const reason of endedReasons) {
      const own = pageOf(
        { brand, texts: { [reason]: { 'zh-Hant-TW': text } } },
        'zh-Hant-TW',
        reason,
      );
      expect(Buffer.byteLength(own.html)).toBeLessThanOrEqual(bytesMax);
      for (const language of pageLanguages) {
        const page = pageOf({ brand, texts: {} }, language, reason);
        expect(Buffer.byteLength(page.html)).toBeLessThanOrEqual(bytesMax);
      }
    }
  });

  it('keeps 4.5:1 in both schemes, whatever its color', () => {
    const channel = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(channel, channel, channel, (...channels) => {
        const color = `#${channels.map((one) => one.toString(16).padStart(2, '0')).join('')}`;
        const schemes = contrastsOf(pageOf({ brand: { colour: color }, texts: {} }).html);
        expect(schemes).toHaveLength(2);
        for (const { text, accent } of schemes) {
          expect(text).toBeGreaterThanOrEqual(4.5);
          expect(accent).toBeGreaterThanOrEqual(4.5);
        }
      }),
    );
  });

  it('takes whatever it is given as text', () => {
    const hostile = fc.oneof(
      anyText({ maxLength: 60 }),
      fc
        .array(
          fc.constantFrom(...`< > " ' & </title> <script> --`.split(' '), '<img src=x onerror=y>'),
          { maxLength: 12 },
        )
        .map((pieces) => pieces.join('')),
    );
    const tags = (html: string): string[] => html.match(/<[^>]*>/g) ?? [];
    const shape = (html: string): string =>
      tags(html)
        .join('')
        .replace(/"[^"]*"/g, '""');
    const plain = { name: 'a', supportUrl: 'https://e.co/' };
    const expected = shape(
      pageOf({ brand: plain, texts: { expired: { en: { title: 'a', text: 'a' } } } }).html,
    );
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, (name, title, text, path) => {
        const brand = { name, supportUrl: `https://e.co/${path}` };
        const { html } = pageOf({ brand, texts: { expired: { en: { title, text } } } });
        expect(shape(html)).toBe(expected);
        expect(html.split('"').length % 2).toBe(1);
      }),
    );
  });
});

/** Pages over real sockets: in the reader's language, with what the workspace says now, in every thread. */

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
    ['ja;q=0.9,en;q=0.8', 'ja', 'このコードのリンク先が見つかりません'],
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

it('the root of the short domain leads where the installation says, and is no scan', async () => {
  const before = harness.scans().length;
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await ask('/?utm=1', undefined, method);
    expect([status, headers.get('location')]).toEqual([302, rootUrl]);
    expect(headers.get('cache-control')).toBe('private, no-store');
  }
  expect((await ask('/', undefined, 'POST')).status).toBe(405);
  expect(harness.scans()).toHaveLength(before);
});
