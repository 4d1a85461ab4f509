/** Many images as one ZIP, opened by fflate's reader, which is not the writer that streams. */
import { unzipSync } from 'fflate';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { archiveImages, type ArchiveEntry } from '../../../src/product/images/archive.ts';
import { fileName } from '../../../src/product/images/file-name.ts';
import { draw } from '../../../src/product/images/draw/drawing.ts';
import { type ImageFormat, imageFormats } from '../../../src/product/images/formats.ts';
import { Failure } from '../../../src/model/failure.ts';

const entry = (at: number, format: ImageFormat = 'png', size = 128): ArchiveEntry => ({
  name: fileName(`Table ${at}`, `CODE${at}`, format),
  request: { content: `HTTPS://QR.EXAMPLE.COM/CODE${at}`, format, size },
  changedAtMs: Date.UTC(2026, 2, 4),
});
const render = async (request: ArchiveEntry['request']) => ({ bytes: await draw(request) });

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Record<string, Uint8Array>> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return unzipSync(Buffer.concat(all));
}

describe('archiveImages', () => {
  test.each(imageFormats)('holds %s as it is drawn', async (format) => {
    const one = entry(1, format);
    const files = await whole(archiveImages([one], render));
    expect(Buffer.from(files[one.name] ?? []).equals(await draw(one.request))).toBe(true);
  });

  test('draws a few ahead of its reader and stops with it', async () => {
    let drawn = 0;
    const entries = Array.from({ length: 100 }, (_, at) => entry(at));
    const counted = async (request: ArchiveEntry['request']) => {
      drawn += 1;
      return await render(request);
    };
    const pieces = archiveImages(entries, counted);
    await pieces.next();
    await pieces.return(undefined);
    expect(drawn).toBeLessThan(6);
  });

  test('names what cannot be drawn, and draws the rest', async () => {
    const entries = [entry(1), { ...entry(2, 'png', 64), request: tooLong }, entry(3)];
    const files = await whole(archiveImages(entries, render));
    expect(Object.keys(files)).toEqual(['Table-1-CODE1.png', 'Table-3-CODE3.png', 'NOT-DRAWN.txt']);
    expect(Buffer.from(files['NOT-DRAWN.txt'] ?? []).toString()).toMatch(
      /^Table-2-CODE2\.png: The image is too small .* at least \d+ pixels\n$/,
    );
  });
  const tooLong = { content: 'x'.repeat(400), format: 'png', size: 64 } as const;

  test('waits for a full queue, and a defect ends it', async () => {
    let refusals = 2;
    const busy = async (request: ArchiveEntry['request']) => {
      if (refusals-- > 0) throw new Failure('overloaded', 'full');
      return await render(request);
    };
    expect(Object.keys(await whole(archiveImages([entry(1)], busy)))).toHaveLength(1);
    const broken = async (): Promise<never> => Promise.reject(new Error('a defect'));
    await expect(whole(archiveImages([entry(1), entry(2)], broken))).rejects.toThrow('a defect');
  });
});

/** Any UTF-16 units, lone surrogates too. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 120 })
  .map((units) => String.fromCharCode(...units));

describe('fileName', () => {
  test.each([
    ['Table 12', 'Table-12-K7.png'],
    ['Grüße / 你好', 'Grüße-你好-K7.png'],
    ['../../etc/passwd', 'etc-passwd-K7.png'],
    ['a\\b:c*d?"<>|', 'a-b-c-d-K7.png'],
    ['CON', 'K7.png'],
    ['...', 'K7.png'],
    [undefined, 'K7.png'],
  ])('%s is %s', (name, expected) => {
    expect(fileName(name, 'K7', 'png')).toBe(expected);
  });

  test('is safe on every system, whatever the name', () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const file = fileName(name, 'K7RM2X9D', 'png');
        expect(file).toMatch(/^(?:[\p{L}\p{N}_][\p{L}\p{N}_-]*-)?K7RM2X9D\.png$/u);
        expect(Buffer.byteLength(file)).toBeLessThanOrEqual(255);
        expect(file.isWellFormed()).toBe(true);
      }),
    );
  });
});
