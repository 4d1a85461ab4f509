/** Images as files: what they are called, how large they are on paper, and that they are drawn once. */
import { describe, expect, test } from 'vitest';
import { unzipSync } from 'fflate';
import * as mupdf from 'mupdf';
import { readAny, scanBoth } from '../product/images/read-image.ts';
import { type Answer, word } from '../support/client.ts';
import { useTestApi } from '../support/test-client.ts';

const { service, client, makeCode } = await useTestApi({ images: 'drawn' });

const target = 'https://example.com/menu';
const make = async (fields: object = {}): Promise<string> => word((await makeCode(fields)).id);
const get = async (path: string): Promise<Answer> => await client.get(path, { key: undefined });
const dispositionOf = async (path: string): Promise<string> =>
  String((await get(path)).headers['content-disposition']);

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
    await client.patch(`/v1/qr-codes/${id}`, { name: 'New' });
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
    const { bytes } = await client.post('/v1/qr-codes/images', {
      ids: [imported.id],
      format: 'png',
    });
    const files = Object.keys(unzipSync(bytes));
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
    const { json } = await client.get(`/v1/qr-codes/${id}`);
    const link = word(json.shortUrl).toUpperCase();
    for (const format of ['pdf', 'eps'] as const) {
      const { bytes } = await get(`/i/${id}.${format}?mm=83`);
      expect(await scanBoth(await readAny(bytes, format))).toEqual([link, link]);
    }
  });

  test.each(['pdf?mm=19', 'pdf?mm=501', 'pdf?mm=5.5', 'png?mm=50'])(
    '%s is refused by name',
    async (file) => {
      const { status, faults } = await get(`/i/${await make()}.${file}`);
      expect([status, faults[0]?.path]).toEqual([422, 'mm']);
    },
  );

  test('too small a print or size says the smallest that fits', async () => {
    const long = `https://example.com/${'a'.repeat(900)}`;
    const id = await make({ target: long, dynamic: false });
    for (const [file, message] of [
      ['pdf?mm=30', /at least \d+ points \(\d\d mm\)/],
      ['pdf?size=64', /at least \d+ points/],
      ['png?size=64', /at least 1\d\d pixels/],
    ] as const) {
      const { status, faults } = await get(`/i/${id}.${file}`);
      expect([status, faults[0]?.message]).toEqual([422, expect.stringMatching(message)]);
    }
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

test('an image that is requested again is sent from memory, and is 410 as soon as its code is deleted', async () => {
  const images = service.images.service;
  const code = await makeCode();
  const { pathname, search } = new URL(word(code.imageUrl));
  const first = await get(pathname + search);
  const drawn = images.drawn;
  // A parameter without a meaning, or another order of the others, is the same image from memory.
  for (const query of [
    search,
    `${search}&x=1`,
    `?x=1&${search.slice(1)}`,
    `?download=0&${search.slice(1)}`,
  ]) {
    const again = await get(pathname + query);
    expect(again.bytes.equals(first.bytes)).toBe(true);
    const sent = { date: first.headers.date, 'x-request-id': first.headers['x-request-id'] };
    expect({ ...again.headers, ...sent }).toEqual(first.headers);
  }
  expect(images.drawn).toBe(drawn);
  await client.delete(`/v1/qr-codes/${word(code.id)}`);
  expect((await get(pathname + search)).status).toBe(410);
});

test('what has no image is 404, another method 405, and none of it uses quota', async () => {
  const id = await make();
  for (const file of ['qr_00000000000000000000.png', `${id}.exe`]) {
    expect((await get(`/i/${file}`)).status).toBe(404);
  }
  for (const size of [63, 4_097]) expect((await get(`/i/${id}.png?size=${size}`)).status).toBe(422);
  expect((await client.post(`/i/${id}.png`, undefined, { key: undefined })).status).toBe(405);
  const { headers } = await get(`/i/${id}.png`);
  const known = { headers: { 'if-none-match': `"x", W/${headers.etag}` } };
  for (let asked = 0; asked < 30; asked += 1) {
    const { status, text } = await client.get(`/i/${id}.png`, { key: undefined, ...known });
    expect([status, text]).toEqual([304, '']);
  }
});
