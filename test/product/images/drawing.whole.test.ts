/** What is drawn is read back by an independent decoder and must be the content, at every size. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, it, test } from 'vitest';
import { ScannabilityCheck } from '../../../src/product/images/design/scannability-check.ts';
import { isScannable } from '../../../src/product/images/design/scannable.ts';
import { styleOf } from '../../../src/product/images/design/style.ts';
import { draw } from '../../../src/product/images/draw/drawing.ts';
import { createMatrix } from '../../../src/product/images/draw/matrix.ts';
import { Logos } from '../../../src/product/images/logo/logos.ts';
import { type ImageTasks, localTasks } from '../../../src/product/images/tasks.ts';
import { Failure } from '../../../src/model/failure.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { readAny, readPng, type ReadPng, readZxing, scanBoth, scanPng } from './read-image.ts';
import { anyLogo, cleanedRoundLogo, designs, roundLogoUrl } from './sample-designs.ts';

const shortUrl = 'HTTPS://QR.EXAMPLE.COM/K7RM2X9D';

const contents: Record<string, string> = {
  'generated short URL': shortUrl,
  'custom short URL': 'https://qr.example.com/Summer_Sale',
  'url with query': 'https://example.com/a/b?c=%20d&e=f#g',
  text: 'Grüße aus Köln, 你好, مرحبا 👋',
  email: 'mailto:someone@example.com?subject=Hello',
  phone: 'tel:+4915112345678',
  sms: 'SMSTO:+4915112345678:See you at 8',
  wifi: 'WIFI:T:WPA;S:My \\;Net\\;;P:pa\\:ss\\\\word;;',
  'wifi, open': 'WIFI:T:nopass;S:Café \\"Zur Post\\", 1. Stock;;',
  vcard: 'BEGIN:VCARD\r\nVERSION:3.0\r\nN:Müller;Ada;;;\r\nFN:Ada Müller\r\nEND:VCARD\r\n',
  'vcard, escaped':
    'BEGIN:VCARD\nVERSION:4.0\nFN:Ada\\, Countess\nN:Lovelace\\;King;Ada;;;\nNOTE:a\\nb\\\\c\nEND:VCARD',
  geo: 'geo:52.52,13.405?q=Berlin',
  'one character': '7',
  'the longest target': `https://example.com/${'aB3-'.repeat(507)}`,
};

/** A PNG of any size as at most 512 x 512 of its pixels: large ones take decoders seconds. */
async function sampled(bytes: Uint8Array): Promise<ReadPng & { readonly drawnSize: number[] }> {
  const image = sharp(bytes);
  const { width, height } = await image.metadata();
  const edge = Math.min(512, width);
  const pixels = image
    .resize(edge, edge, { kernel: 'nearest' })
    .toColourspace('srgb')
    .ensureAlpha();
  const rgba = new Uint8ClampedArray(await pixels.raw().toBuffer());
  return { width: edge, height: edge, rgba, drawnSize: [width, height] };
}

describe('draw: PNG', () => {
  it.each(Object.entries(contents))('gives back the content of %s', async (_, content) => {
    const bytes = await draw({ content, format: 'png', size: 400 });
    const found = await readZxing(readPng(bytes));
    expect(Buffer.from(found?.bytes ?? []).toString()).toBe(content);
    // Beyond ASCII the symbol names its character set: readers do not have to guess.
    expect(found?.hasECI).toBe(/[^\0-\x7f]/.test(content));
    if (createMatrix(content).side < 100) expect(scanPng(bytes)?.content).toBe(content);
  });

  it.each([64, 65, 127, 128, 513, 1000, 4096])(
    'is exactly %i pixels wide and high, and reads back',
    async (size) => {
      const bytes = await draw({ content: shortUrl, format: 'png', size });
      const picture = await sampled(bytes);
      expect(picture.drawnSize).toEqual([size, size]);
      expect(await scanBoth(picture)).toEqual([shortUrl, shortUrl]);
    },
  );

  it('draws modules as whole pixels, black on white, with a quiet zone of 4 modules or more', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1, maxLength: 60 }),
        fc.integer({ min: 100, max: 400 }),
        async (content, size) => {
          const { side, modules } = createMatrix(content);
          const scale = Math.floor(size / (side + 8));
          const { rgba } = readPng(await draw({ content, format: 'png', size }));
          const offset = Math.floor((size - side * scale) / 2);
          expect(offset).toBeGreaterThanOrEqual(4 * scale);
          let wrong = 0;
          for (let y = 0; y < size; y += 1) {
            for (let x = 0; x < size; x += 1) {
              const column = Math.floor((x - offset) / scale);
              const row = Math.floor((y - offset) / scale);
              const inside = column >= 0 && row >= 0 && column < side && row < side;
              const dark = inside && modules[row * side + column] === 1;
              if (rgba[(y * size + x) * 4] !== (dark ? 0 : 255)) wrong += 1;
            }
          }
          expect(wrong).toBe(0);
        },
      ),
      { numRuns: 8 },
    );
  });
});

it.each(Object.entries(contents))(
  'an SVG outlines exactly the modules of %s',
  async (_, content) => {
    const { side, modules } = createMatrix(content);
    const [scale, edge] = [3, side + 8];
    const size = scale * edge;
    const picture = await readAny(await draw({ content, format: 'svg', size }), 'svg');
    expect(picture.width).toBe(size);
    const drawn = Array.from({ length: edge * edge }, (_none, at) => {
      const [x, y] = [at % edge, Math.floor(at / edge)].map((module) => module * scale + 1);
      return picture.rgba[(y! * size + x!) * 4] === 0 ? '#' : '.';
    });
    const line = (y: number): string =>
      Array.from(modules.subarray(y * side, (y + 1) * side), (dark) => '.#'[dark]).join('');
    const margin = '.'.repeat(4 * edge);
    const rows = Array.from({ length: side }, (_none, y) => `....${line(y)}....`);
    expect(drawn.join('')).toBe([margin, ...rows, margin].join(''));
  },
);

describe('draw: bytes', () => {
  /** Printed codes and cached copies rely on it: a change of these hashes is a change of the images. */
  it.each([
    ['png', '4922ffadae0302d1'],
    ['svg', '9ec053a968938b49'],
  ] as const)('are the same for the same %s request, for ever', async (format, hash) => {
    const first = await draw({ content: shortUrl, format, size: 512 });
    expect(await draw({ content: shortUrl, format, size: 512 })).toEqual(first);
    const fixed = format === 'png' ? readPng(first).rgba : first;
    expect(createHash('sha256').update(fixed).digest('hex').slice(0, 16)).toBe(hash);
  });
});

describe('draw: refusals', () => {
  const refuse = (text: string, size: number) =>
    failureOf(draw({ content: text, format: 'png', size }));

  it('refuses a size below one pixel a module with its quiet zone, and takes the next', async () => {
    const content = 'x'.repeat(200);
    const sizeMin = createMatrix(content).side + 8;
    const failure = await refuse(content, sizeMin - 1);
    expect(failure.code).toBe('validation_failed');
    expect(failure.faults[0]).toMatchObject({ path: 'size', code: 'too_small' });
    const twice = await draw({ content, format: 'png', size: sizeMin * 2 });
    expect(scanPng(twice)?.content).toBe(content);
    const once = await draw({ content, format: 'png', size: sizeMin });
    expect(readPng(once).width).toBe(sizeMin);
  });

  it.each([
    ['nothing', '', 'too_short'],
    ['one byte more than a symbol holds', 'x'.repeat(2_332), 'too_long'],
    ['megabytes', '1'.repeat(5_000_000), 'too_long'],
  ])('refuses %s', async (_, content, code) => {
    const failure = await refuse(content, 4096);
    expect(failure.code).toBe('validation_failed');
    expect(failure.faults[0]).toMatchObject({ path: 'target', code });
  });

  it('draws the most that a symbol holds', () => {
    expect(createMatrix('x'.repeat(2_331)).side).toBe(177);
    expect(createMatrix('1'.repeat(5_596)).side).toBe(177);
  });
});

/** The openCheck of designs: good ones pass, bad ones are refused with advice, before and after drawing. */

const code = { dynamic: true, shortCode: 'K7RM2X9D', target: 'https://example.com/' };
const shortUrlBase = 'https://qr.example.com';

function openCheck(tasks: ImageTasks = localTasks) {
  const { store } = temporaryManagement();
  const logos = new Logos({ store, clock: new TestClock(), tasks });
  return { logos, check: new ScannabilityCheck({ tasks, logos, shortUrlBase }) };
}

async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const failure = await promise.catch((error: unknown) => error);
  if (failure instanceof Failure) return failure;
  throw new Error('Cannot test a refusal: it was taken');
}

describe('isScannable', () => {
  // formats.whole.test.ts reads every design with two decoders.
  test.each(['transparent background', 'dots', 'linear gradient', 'logo and everything'])(
    '%s is read at a glance',
    async (name) => {
      const design = designs[name]!;
      const logo = design.logo === undefined ? undefined : await cleanedRoundLogo();
      const text = 'Grüße 👋 '.repeat(9);
      expect(await isScannable({ content: text, style: styleOf(design), logo })).toBe(true);
    },
  );

  test('the plain style is read for every kind of content', async () => {
    for (const text of [contents['wifi']!, '7', 'x'.repeat(2_000), '1'.repeat(5_000)]) {
      expect(await isScannable({ content: text, style: styleOf({}) })).toBe(true);
    }
  });

  test('colors that a camera cannot tell apart are not read', async () => {
    const faint = styleOf({ foreground: '#fbfbfb' });
    expect(await isScannable({ content: shortUrl, style: faint })).toBe(false);
    const inverted = styleOf({ foreground: '#fff', background: '#000' });
    expect(await isScannable({ content: shortUrl, style: inverted })).toBe(false);
  });

  test('a large logo on little error correction is not read', async () => {
    const logo = await cleanedRoundLogo();
    const style = styleOf({ logo: anyLogo, logoScale: 0.25, errorCorrection: 'L' });
    expect(await isScannable({ content: shortUrl, style, logo })).toBe(false);
  });
});

describe('ScannabilityCheck', () => {
  test('a good design comes back as written, its logo by name', async () => {
    const { check, logos } = openCheck();
    const given = { foreground: '#1D3557', dotStyle: 'dots', logo: roundLogoUrl };
    const design = await check.accept(1, code, given);
    const [logo] = logos.list(1);
    expect(design).toEqual({ ...given, logo: logo?.id });
    expect(await check.accept(1, code, design)).toEqual(design);
  });

  test('colors are checked before anything is drawn', async () => {
    const isScannable = () => Promise.reject(new Error('drawn'));
    const { check } = openCheck({ ...localTasks, isScannable });
    const faint = { foreground: '#bbb', eyeColor: '#ccc' };
    const failure = await failureOf(check.accept(1, code, faint));
    expect(failure.code).toBe('unscannable');
    const paths = failure.faults.map(({ path }) => path);
    expect(paths).toEqual(['design.foreground', 'design.eyeColor']);
    expect(failure.faults[0]?.message).toMatch(/darken/);
    const plain = { foreground: '#000000', margin: 4 };
    await expect(check.accept(1, code, plain)).resolves.toBeDefined();
    await expect(check.accept(1, code, { foreground: '#111' })).rejects.toThrow('drawn');
  });

  test('an unreadable design is refused with advice; neither its logo nor that of a preview is stored', async () => {
    const { check, logos } = openCheck();
    const image = { format: 'svg', size: 200 } as const;
    const bytes = await check.preview(1, code, { dotStyle: 'rounded', logo: roundLogoUrl }, image);
    expect(Buffer.from(bytes).toString()).toMatch(/^<svg .*<image /s);
    const given = { logo: roundLogoUrl, logoScale: 0.25, errorCorrection: 'L', margin: 2 };
    const failure = await failureOf(check.accept(1, code, given));
    expect(failure.code).toBe('unscannable');
    expect(failure.faults).toMatchObject([{ path: 'design', code: 'unreadable' }]);
    expect(failure.message).toMatch(/errorCorrection H.*logo smaller.*margin of 4/);
    expect(logos.list(1)).toEqual([]);
  });

  test('content that fits only at lower error correction is a fault of the design', async () => {
    const { check } = openCheck();
    const long = { dynamic: false, target: 'x'.repeat(1_900) };
    await expect(check.accept(1, long, { foreground: '#111' })).resolves.toBeDefined();
    const failure = await failureOf(check.accept(1, long, { errorCorrection: 'H' }));
    expect(failure.faults).toMatchObject([{ path: 'design.errorCorrection', code: 'too_long' }]);
  });
});
