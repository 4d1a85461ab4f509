/**
 * Every design in every format, opened by another program and read by two decoders; the same picture in all
 * formats, and the same as in the fixtures, which a person has looked at.
 */
import { readFile, writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { draw } from '../../../src/product/images/draw/drawing.ts';
import { imageFormats, type ImageFormat } from '../../../src/product/images/formats.ts';
import { styleOf } from '../../../src/product/images/design/style.ts';
import type { Design } from '../../../src/model/design.ts';
import { cleanedRoundLogo, designs } from './sample-designs.ts';
import { readAny, readPng, readZxing, scanBoth, type ReadPng } from './read-image.ts';

const content = 'HTTPS://QR.EXAMPLE.COM/K7RM2X9D';
const size = 256;
/** Set it to write new fixtures after an intended change; then look at them. */
const isRecording = false;

async function drawn(name: string, format: ImageFormat): Promise<Uint8Array> {
  const design = designs[name] ?? {};
  const logo = design.logo === undefined ? undefined : await cleanedRoundLogo();
  return await draw({ content, format, size, style: styleOf(design), logo });
}

test.each(Object.keys(designs))(
  '%s reads back in every format and looks the same',
  async (name) => {
    const pictures = new Map<ImageFormat, ReadPng>();
    for (const format of imageFormats) {
      const bytes = await drawn(name, format);
      const picture = await readAny(bytes, format);
      pictures.set(format, picture);
      expect([format, picture.width, picture.height]).toEqual([format, size, size]);
      expect([format, ...(await scanBoth(picture))]).toEqual([format, content, content]);
      if (isRecording && format === 'png') await writeFile(fixtureOf(name), bytes);
    }
    for (const format of ['pdf', 'eps'] as const) {
      expect(difference(pictures.get(format)!, pictures.get('svg')!)).toBeLessThan(0.03);
    }
    const fixture = await readAny(await readFile(fixtureOf(name)), 'png');
    expect(difference(pictures.get('png')!, fixture)).toBeLessThan(0.01);
    expect((await readZxing(fixture))?.text).toBe(content);
  },
);

function fixtureOf(name: string): URL {
  return new URL(`../../fixtures/images/${name.replaceAll(/\W+/g, '-')}.png`, import.meta.url);
}

describe('bytes', () => {
  test.each(imageFormats)('%s is the same again, byte for byte, logo and all', async (format) => {
    const once = await drawn('logo and everything', format);
    expect(Buffer.from(await drawn('logo and everything', format)).equals(once)).toBe(true);
    // A copy between threads is no larger than the image.
    for (const bytes of [once, await drawn('plain', format)]) {
      expect(bytes.buffer.byteLength).toBe(bytes.byteLength);
    }
  });

  test('PDF and EPS carry no date', async () => {
    for (const format of ['pdf', 'eps'] as const) {
      const text = Buffer.from(await drawn('plain', format)).toString('latin1');
      expect(text).not.toMatch(/20[2-9]\d-|D:20[2-9]\d|CreationDate:/);
    }
  });

  test('a transparent background is transparent in PNG and SVG', async () => {
    const { rgba } = readPng(await drawn('transparent background', 'png'));
    expect(rgba[3]).toBe(0);
    const text = Buffer.from(await drawn('transparent background', 'svg')).toString();
    expect(text.match(/<path /g)).toHaveLength(1);
    const style = styleOf({ background: 'transparent', dotStyle: 'dots' });
    const dots = readPng(await draw({ content, format: 'png', size, style }));
    expect(dots.rgba[3]).toBe(0);
  });

  test.each<Design>([
    {},
    { dotStyle: 'dots', eyeStyle: 'circle' },
    { gradient: { from: '#0a3d91', to: '#a4133c' } },
  ])('transparent pixels are white: %o', async (design) => {
    const style = styleOf({ ...design, background: 'transparent' });
    for (const format of ['png', 'webp'] as const) {
      const bytes = await draw({ content, format, size, style });
      const { data } = await sharp(bytes).removeAlpha().ensureAlpha().raw().toBuffer({
        resolveWithObject: true,
      });
      const opaque = { width: size, height: size, rgba: new Uint8ClampedArray(data) };
      expect(opaque.rgba.slice(0, 4)).toEqual(new Uint8ClampedArray([255, 255, 255, 255]));
      expect(await scanBoth(opaque)).toEqual([content, content]);
    }
  });

  test('an SVG names nothing outside itself', async () => {
    const text = Buffer.from(await drawn('logo and everything', 'svg')).toString();
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
