/** Images as files: what they are called, and how large they are on paper. */
import { unzipSync } from 'fflate';
import * as mupdf from 'mupdf';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAny, scanBoth } from '../../images/read-image.ts';
import { Client, word } from '../../support/client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

let service: TestApp;
let client: Client;

beforeAll(async () => {
  service = await startTestApi({ images: 'drawn' });
  client = new Client(service.url, service.apiKey);
});
afterAll(async () => {
  await client.close();
  await service.close();
});

const target = 'https://example.com/menu';

async function make(body: object = {}): Promise<string> {
  return word((await client.call('POST', '/v1/qr-codes', { body: { target, ...body } })).json.id);
}

async function get(path: string) {
  const { statusCode, headers, body } = await request(`${service.url}${path}`);
  return { status: statusCode, headers, bytes: Buffer.from(await body.arrayBuffer()) };
}

async function dispositionOf(path: string): Promise<string> {
  return String((await get(path)).headers['content-disposition']);
}

describe('the name of a download', () => {
  test.each([
    ['Table 12', 'filename="Table-12.png"'],
    [
      'Café Zürich, Straße',
      `filename="Cafe-Zurich-Strasse.png"; filename*=UTF-8''Caf%C3%A9-Z%C3%BCrich-Stra%C3%9Fe.png`,
    ],
    ['../../etc/passwd', 'filename="etc-passwd.png"'],
    ['a"; filename="b.exe', 'filename="a-filename-b-exe.png"'],
    ['50 % off; *now*', 'filename="50-off-now.png"'],
    ['CON', 'filename="ID.png"'],
    ['日本', `filename="ID.png"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.png`],
    ['😀', 'filename="ID.png"'],
    ['x'.repeat(120), `filename="${'x'.repeat(60)}.png"`],
    [undefined, 'filename="ID.png"'],
  ])('%s', async (name, expected) => {
    const id = await make({ name });
    const disposition = await dispositionOf(`/i/${id}.png?download=1`);
    expect(disposition).toBe(`attachment; ${expected.replace('ID', id)}`);
  });

  test('follows the code’s name at once, in every format, and only where it is asked for', async () => {
    const id = await make({ name: 'Old' });
    const path = `/i/${id}.svg?download=1`;
    expect(await dispositionOf(path)).toContain('"Old.svg"');
    await client.call('PATCH', `/v1/qr-codes/${id}`, { body: { name: 'New' } });
    for (const format of ['svg', 'png', 'webp', 'pdf', 'eps']) {
      expect(await dispositionOf(`/i/${id}.${format}?download=1`)).toBe(
        `attachment; filename="New.${format}"`,
      );
    }
    expect((await get(`/i/${id}.svg`)).headers['content-disposition']).toBeUndefined();
  });

  test('in an archive has no folder, whatever the short code is', async () => {
    const imported = await service.codes.create(service.actor, {
      target,
      slug: 'menu/summer',
      name: 'M',
    });
    const answer = await request(`${service.url}/v1/qr-codes/images`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ids: [imported.id], format: 'png' }),
    });
    const files = Object.keys(unzipSync(Buffer.from(await answer.body.arrayBuffer())));
    expect(files).toEqual([`M-${imported.id}.png`]);
  });
});

describe('the size of a print', () => {
  test.each([20, 50, 100, 500])('%i mm are those in PDF and EPS', async (mm) => {
    const id = await make();
    const edge = (mm / 25.4) * 72;
    const pdf = await get(`/i/${id}.pdf?mm=${mm}`);
    const [, box = ''] =
      /\/MediaBox \[0 0 ([\d.]+ [\d.]+)\]/.exec(pdf.bytes.toString('latin1')) ?? [];
    for (const points of box.split(' ')) expect(Number(points)).toBeCloseTo(edge, 2);
    const document = mupdf.Document.openDocument(pdf.bytes, 'application/pdf');
    const page = document.loadPage(0);
    for (const points of page.getBounds().slice(2)) expect(points).toBeCloseTo(edge, 1);
    page.destroy();
    document.destroy();
    const eps = await get(`/i/${id}.eps?mm=${mm}`);
    const lines = eps.bytes.toString('latin1').split('\n');
    const [, exact = ''] = lines.find((line) => line.startsWith('%%HiRes'))?.split(': 0 0 ') ?? [];
    for (const points of exact.split(' ')) expect(Number(points)).toBeCloseTo(edge, 2);
    expect(lines[1]).toBe(`%%BoundingBox: 0 0 ${Math.ceil(edge)} ${Math.ceil(edge)}`);
  });

  test('a print of any size reads as the short link', async () => {
    const id = await make();
    const { json } = await client.call('GET', `/v1/qr-codes/${id}`);
    const link = word(json.shortUrl).toUpperCase();
    for (const format of ['pdf', 'eps'] as const) {
      const { bytes } = await get(`/i/${id}.${format}?mm=83`);
      expect(await scanBoth(await readAny(bytes, format))).toEqual([link, link]);
    }
  });

  test.each([
    ['pdf?mm=19', 'mm'],
    ['pdf?mm=501', 'mm'],
    ['pdf?mm=5.5', 'mm'],
    ['eps?mm=x', 'mm'],
    ['pdf?mm=', 'mm'],
    ['png?mm=50', 'mm'],
    ['svg?mm=50', 'mm'],
    ['webp?mm=50', 'mm'],
  ])('%s is refused by name', async (file, path) => {
    const id = await make();
    const { status, faults } = await client.call('GET', `/i/${id}.${file}`, { key: undefined });
    expect([status, faults[0]?.path]).toEqual([422, path]);
  });

  test('too small a print says the millimetres that fit', async () => {
    const long = `https://example.com/${'a'.repeat(900)}`;
    const id = await make({ target: long, dynamic: false });
    const { status, faults } = await client.call('GET', `/i/${id}.pdf?mm=30`, { key: undefined });
    expect([status, faults[0]?.message]).toEqual([
      422,
      expect.stringMatching(/at least \d+ points \(\d\d mm\)/),
    ]);
  });

  test('pixels stay choosable, and are remembered apart from millimetres', async () => {
    const id = await make();
    for (const size of [64, 512, 2_048, 4_096]) {
      const { bytes } = await get(`/i/${id}.png?size=${size}`);
      // Of the header: to unpack 16 million pixels takes a second.
      expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([size, size]);
    }
    const [points, millimetres] = [
      await get(`/i/${id}.pdf?size=100`),
      await get(`/i/${id}.pdf?mm=100`),
    ];
    expect(points.bytes.equals(millimetres.bytes)).toBe(false);
  });
});
