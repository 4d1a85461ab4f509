/** The brand of a workspace and its texts for pages: changed, refused with all faults, previewed. */
import { beforeEach, describe, expect, test } from 'vitest';
import sharp from 'sharp';
import { brandLogoBytesMax } from '../../src/model/routing/pages.ts';
import { roundLogoUrl } from '../product/images/sample-designs.ts';
import { type Answer, word } from '../support/client.ts';
import { useTestApi } from '../support/test-client.ts';

const { service, client } = await useTestApi({ environment: { QZ_PAGES_BRAND_NAME: 'Our host' } });
const path = `/v1/workspaces/${service.first.workspace.id}`;
beforeEach(() => change({ brand: null, pages: null }));

const change = async (body: object): Promise<Answer> => await client.patch(path, body);
const shown = async () => (await client.get(path)).json;
const preview = (body: object) => client.post(`${path}/page-preview`, body);

const brand = { name: 'Bakery', colour: '#0f6b5c', supportUrl: 'mailto:hello@bakery.example' };
const text = { title: 'Over', text: 'Come by all the same.' };

describe('a change', () => {
  test('is a merge patch of the brand, and of texts by reason and language', async () => {
    const before = await shown();
    expect(before).toMatchObject({ name: 'My workspace', brand: {}, pages: {} });
    const pages = { expired: { en: text, 'pt-BR': text } };
    const made = await change({ brand, pages });
    expect(made.json).toEqual({ ...before, brand, pages });
    expect(await shown()).toEqual(made.json);
    const second = await change({
      name: 'Second',
      brand: { colour: null, supportUrl: 'HTTPS://Bakery.example' },
      pages: { expired: { 'pt-BR': null, de: text }, deleted: { en: text } },
    });
    expect(second.json).toMatchObject({
      name: 'Second',
      brand: { name: 'Bakery', supportUrl: 'https://bakery.example/' },
      pages: { expired: { en: text, de: text }, deleted: { en: text } },
    });
    expect(second.json.brand).not.toHaveProperty('colour');
    expect(second.json.pages?.expired).not.toHaveProperty('pt-BR');
    const rest = { expired: null, deleted: { en: null } };
    const third = await change({ name: 'My workspace', pages: rest });
    expect(third.json.pages).toEqual({});
    expect(third.json.brand).toMatchObject({ name: 'Bakery' });
  });

  test('keeps its numbers: one entry for a workspace, above the one before', async () => {
    await change({ brand });
    const first = service.store.last('pages');
    await change({ brand: { name: 'Café' } });
    expect([...service.store.pages.changes.keys({})]).toEqual([[first + 1, 1]]);
    // A name alone is no change of pages.
    await change({ name: 'My workspace' });
    expect(service.store.last('pages')).toBe(first + 1);
  });

  test('is drawn into a logo that fits a page, and may be sent back as it is stored', async () => {
    const { json } = await change({ brand: { ...brand, logo: roundLogoUrl } });
    const logo = word(json.brand?.logo);
    expect(logo).toMatch(/^data:image\/webp;base64,/);
    const bytes = Buffer.from(logo.slice(logo.indexOf(',') + 1), 'base64');
    expect(bytes.length).toBeLessThanOrEqual(brandLogoBytesMax);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp' });
    expect((await change({ brand: { logo } })).json.brand?.logo).toBe(logo);
    expect((await change({ brand: { logo: null } })).json.brand).toEqual(brand);
  });

  test('with faults is refused with all of them, and changes nothing', async () => {
    await change({ brand, pages: { expired: { en: text } } });
    const before = await shown();
    const answer = await change({
      name: '',
      brand: {
        name: 'x'.repeat(61),
        colour: 'green',
        supportUrl: 'javascript:alert(1)',
        logo: 'https://example.com/logo.png',
        font: 'x',
      },
      pages: {
        gone: { en: text },
        expired: { english: text, 'de-de': text, fr: { title: 'x'.repeat(81), text: '' } },
        paused: { en: { title: 'No text' }, de: { ...text, help: 'x' }, es: 'x' },
      },
    });
    expect(answer.status).toBe(422);
    expect(answer.faults.map((fault) => `${fault.path} ${fault.code}`).toSorted()).toEqual([
      'brand.colour invalid_format',
      'brand.font unknown_field',
      'brand.logo invalid',
      'brand.name too_big',
      'brand.supportUrl invalid_url',
      'name too_small',
      'pages.expired.de-de invalid',
      'pages.expired.english invalid',
      'pages.expired.fr.text too_small',
      'pages.expired.fr.title too_big',
      'pages.gone unknown_field',
      'pages.paused.de.help unknown_field',
      'pages.paused.en.text required',
      'pages.paused.es wrong_type',
    ]);
    expect(await shown()).toEqual(before);
  });

  test.each([
    [{ brand: { supportUrl: 'ftp://example.com' } }, 'brand.supportUrl'],
    [{ brand: { supportUrl: 'mailto:nobody' } }, 'brand.supportUrl'],
    [{ brand: { supportUrl: 'https://user:pass@example.com/' } }, 'brand.supportUrl'],
    [{ brand: { supportUrl: `https://e.co/?${'&'.repeat(100)}` } }, 'brand.supportUrl'],
    [{ brand: { name: '"'.repeat(60) } }, 'brand.name'],
    [{ brand: { name: 'a\u202eb' } }, 'brand.name'],
    [{ brand: { logo: 'data:image/webp;base64,AAAA' } }, 'brand.logo'],
    [
      { brand: { logo: `data:image/svg+xml;base64,${btoa('<svg><script/></svg>')}` } },
      'brand.logo',
    ],
    [{ pages: { expired: { 'en-US-x-private': text } } }, 'pages.expired.en-US-x-private'],
    [{ pages: { expired: { constructor: text } } }, 'pages.expired.constructor'],
    [{ pages: { expired: { en: { ...text, text: 'a\nb' } } } }, 'pages.expired.en.text'],
  ])('is refused: %j', async (body, faulty) => {
    const answer = await change(body);
    expect(answer.status).toBe(422);
    expect(answer.faults.map((fault) => fault.path)).toEqual([faulty]);
  });

  test('of more than 12 languages of a reason is refused, also by and by', async () => {
    const all = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'tr', 'ja', 'sv', 'fi', 'da'];
    const textsIn = (languages: readonly string[]) =>
      Object.fromEntries(languages.map((language) => [language, text]));
    expect((await change({ pages: { paused: textsIn(all) } })).status).toBe(422);
    expect((await change({ pages: { paused: textsIn(all.slice(0, 12)) } })).status).toBe(200);
    const answer = await change({ pages: { paused: { da: text } } });
    expect(answer.faults).toMatchObject([{ path: 'pages.paused', code: 'too_big' }]);
    expect((await change({ pages: { paused: { en: null, da: text } } })).status).toBe(200);
  });
});

test('a preview is the page after a change that is not made', async () => {
  await change({ brand: { name: 'Bakery' } });
  const before = await shown();
  const { status, json } = await preview({
    reason: 'expired',
    language: 'de-AT',
    brand: { supportUrl: 'tel:+49 30 1234', logo: roundLogoUrl },
    pages: { expired: { de: { title: 'Vorbei <b>', text: 'Bis bald' } } },
  });
  expect([status, json.language]).toEqual([200, 'de']);
  expect(json.html).toMatch(/<html lang="de">.*src="data:image\/webp.*alt="Bakery"/);
  expect(json.html).toMatch(/Vorbei &lt;b&gt;.*Bis bald.*href="tel:\+49301234"/);
  expect(await shown()).toEqual(before);
});

test('a preview has the brand of the installation where the workspace has none', async () => {
  const { json } = await preview({ reason: 'used_up', language: 'es' });
  expect(json.html).toMatch(/Our host.*Este código está agotado/);
});
