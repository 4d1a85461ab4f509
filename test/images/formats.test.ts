/**
 * Every design in every format, opened by somebody else's program and read by two decoders; and the same
 * picture in all formats: what one shows, the others show.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { PNG } from 'pngjs';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { draw, imageFormats, type ImageFormat } from '../../src/images/draw/drawing.ts';
import { styleOf } from '../../src/images/design/style.ts';
import { cleanLogo } from '../../src/images/logo/logo.ts';
import type { LogoImage } from '../../src/images/draw/picture.ts';
import type { Design } from '../../src/model/design.ts';
import { designs, roundLogo } from './looks.ts';
import { readAny, readPng, readZxing, scanBoth, type ReadPng } from './read-image.ts';

const content = 'HTTPS://QR.EXAMPLE.COM/K7RM2X9D';
/** Set to write the golden images anew, when they are meant to change; then look at them. */
const isRecording = false;
let logo: LogoImage;

beforeAll(async () => {
  logo = await cleanLogo(Buffer.from(roundLogo), 'image/svg+xml');
});

async function drawn(name: string, format: ImageFormat, size: number): Promise<Uint8Array> {
  const design = designs[name] ?? {};
  const itsLogo = design.logo === undefined ? undefined : logo;
  return await draw({ content, format, size, look: styleOf(design), logo: itsLogo });
}

describe.each(Object.keys(designs))('%s', (name) => {
  test.each(imageFormats)('reads back as %s', async (format) => {
    const picture = await readAny(await drawn(name, format, 220), format);
    expect([picture.width, picture.height]).toEqual([220, 220]);
    expect(await scanBoth(picture)).toEqual([content, content]);
  });

  test('looks the same in every vector format', async () => {
    const [svg, pdf, eps] = await Promise.all(
      (['svg', 'pdf', 'eps'] as const).map(async (format) =>
        readAny(await drawn(name, format, 222), format),
      ),
    );
    expect(difference(pdf!, svg!)).toBeLessThan(0.03);
    expect(difference(eps!, svg!)).toBeLessThan(0.03);
  });

  test('looks as it did when somebody looked at it', async () => {
    const file = new URL(`../fixtures/images/${name.replaceAll(/\W+/g, '-')}.png`, import.meta.url);
    const bytes = await drawn(name, 'png', 256);
    if (isRecording) await writeFile(file, bytes);
    const golden = await readFile(file);
    expect(difference(await readAny(bytes, 'png'), await readAny(golden, 'png'))).toBeLessThan(
      0.01,
    );
    expect((await readZxing(await readAny(golden, 'png')))?.text).toBe(content);
  });
});

describe('bytes', () => {
  test.each(imageFormats)('%s is the same again, byte for byte, logo and all', async (format) => {
    const once = await drawn('logo and everything', format, 400);
    expect(Buffer.from(await drawn('logo and everything', format, 400)).equals(once)).toBe(true);
    expect(once.buffer.byteLength).toBe(once.byteLength);
  });

  test('PDF and EPS carry no date', async () => {
    for (const format of ['pdf', 'eps'] as const) {
      const text = Buffer.from(await drawn('plain', format, 400)).toString('latin1');
      expect(text).not.toMatch(/20[2-9]\d-|D:20[2-9]\d|CreationDate:/);
    }
  });

  test('a transparent ground is transparent where the format can say so', async () => {
    for (const name of ['no ground']) {
      const { rgba } = readPng(await drawn(name, 'png', 256));
      expect(rgba[3]).toBe(0);
      const text = Buffer.from(await drawn(name, 'svg', 256)).toString();
      expect(text.match(/<path /g)).toHaveLength(1);
    }
    const look = styleOf({ background: 'transparent', dotStyle: 'dots' });
    const dots = readPng(await draw({ content, format: 'png', size: 256, look }));
    expect(dots.rgba[3]).toBe(0);
  });

  test.each<Design>([
    {},
    { dotStyle: 'dots', eyeStyle: 'circle' },
    { gradient: { from: '#0a3d91', to: '#a4133c' } },
  ])('a transparent ground is white underneath: %o', async (design) => {
    const look = styleOf({ ...design, background: 'transparent' });
    for (const format of ['png', 'webp'] as const) {
      const bytes = await draw({ content, format, size: 256, look });
      const { data } = await sharp(bytes).removeAlpha().ensureAlpha().raw().toBuffer({
        resolveWithObject: true,
      });
      const opaque = { width: 256, height: 256, rgba: new Uint8ClampedArray(data) };
      expect(opaque.rgba.slice(0, 4)).toEqual(new Uint8ClampedArray([255, 255, 255, 255]));
      expect(await scanBoth(opaque)).toEqual([content, content]);
    }
  });

  test('an SVG names nothing outside itself', async () => {
    const text = Buffer.from(await drawn('logo and everything', 'svg', 256)).toString();
    const inside = text
      .replace('http://www.w3.org/2000/svg', '')
      .replace(/data:image\/png;base64,[\w+/=]*/, '');
    expect(inside).not.toMatch(/https?:|<script|xlink|@import|file:/);
  });
});

/** Mean distance of the pixels, 0 (equal) to 1 (black against white). */
function difference(one: ReadPng, other: ReadPng): number {
  expect([one.width, one.height]).toEqual([other.width, other.height]);
  const sum = one.rgba.reduce((total, value, at) => total + Math.abs(value - other.rgba[at]!), 0);
  return sum / 255 / (one.width * one.height * 3);
}

test('the measure of likeness can fail', () => {
  const white = new PNG({ width: 2, height: 2 });
  white.data.fill(255);
  const other = new PNG({ width: 2, height: 2 });
  other.data.fill(255);
  other.data[0] = 0;
  const picture = ({ data }: PNG): ReadPng => ({
    width: 2,
    height: 2,
    rgba: new Uint8ClampedArray(data),
  });
  expect(difference(picture(white), picture(other))).toBeCloseTo(1 / 12);
});
