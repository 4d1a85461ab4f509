/** Shapes of designs, styles, colors and what is legible. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { printedShortUrl } from '../../../src/product/images/content.ts';
import { design, parseDesign } from '../../../src/product/images/design/design.ts';
import { legibilityFaults } from '../../../src/product/images/design/scannability-check.ts';
import {
  imageVersion,
  isBitmap,
  plainStyle,
  styleKey,
  styleOf,
} from '../../../src/product/images/design/style.ts';
import { draw } from '../../../src/product/images/draw/drawing.ts';
import { createMatrix } from '../../../src/product/images/draw/matrix.ts';
import type { Design } from '../../../src/model/design.ts';
import { contrast, formatColor, luminance, parseColor } from '../../../src/model/design/color.ts';
import { scanPng } from './read-image.ts';
import { anyLogo, designs } from './sample-designs.ts';

const byte = fc.integer({ min: 0, max: 255 });

describe('colors', () => {
  test('every color is read back from its shortest spelling', () => {
    fc.assert(
      fc.property(byte, byte, byte, (red, green, blue) => {
        expect(parseColor(formatColor({ red, green, blue }))).toEqual({ red, green, blue });
      }),
    );
    expect(formatColor(parseColor('#AABBCC'))).toBe('#abc');
    expect(parseColor('#f0A')).toEqual({ red: 255, green: 0, blue: 170 });
  });

  /** Figures of WCAG's own examples and of two public checkers. */
  test.each([
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#ffffff', 1],
    ['#777777', '#ffffff', 4.48],
    ['#ff0000', '#ffffff', 4.0],
    ['#0000ff', '#ffffff', 8.59],
    ['#ffff00', '#ffffff', 1.07],
  ])('contrast of %s and %s is %f', (one, other, ratio) => {
    const pair = [parseColor(one), parseColor(other)] as const;
    expect(contrast(...pair)).toBeCloseTo(ratio, 1);
    expect(contrast(pair[1], pair[0])).toBe(contrast(...pair));
  });

  test('nothing between the ends of a gradient is lighter than the lighter end', () => {
    const color = fc.record({ red: byte, green: byte, blue: byte });
    fc.assert(
      fc.property(color, color, fc.double({ min: 0, max: 1, noNaN: true }), (from, to, share) => {
        const mix = (a: number, b: number): number => a + (b - a) * share;
        const between = {
          red: mix(from.red, to.red),
          green: mix(from.green, to.green),
          blue: mix(from.blue, to.blue),
        };
        const lightest = Math.max(luminance(from), luminance(to));
        expect(luminance(between)).toBeLessThanOrEqual(lightest + 1e-9);
      }),
    );
  });
});

describe('shape', () => {
  test.each(Object.entries(designs))('%s fits, and comes out as it went in', (_name, given) => {
    expect(design.parse(given)).toEqual(given);
  });

  test.each<[string, object]>([
    ['foreground', { foreground: 'red' }],
    ['foreground', { foreground: '#12345' }],
    ['foreground', { foreground: '#12345678' }],
    ['foreground', { foreground: 'transparent' }],
    ['background', { background: 'none' }],
    ['errorCorrection', { errorCorrection: 'X' }],
    ['margin', { margin: -1 }],
    ['margin', { margin: 21 }],
    ['margin', { margin: 1.5 }],
    ['dotStyle', { dotStyle: 'star' }],
    ['eyeStyle', { eyeStyle: 'dots' }],
    ['eyeColor', { eyeColor: '#ggg' }],
    ['gradient.to', { gradient: { from: '#000' } }],
    ['gradient.type', { gradient: { from: '#000', to: '#111', type: 'conic' } }],
    ['gradient', { gradient: { from: '#000', to: '#111', angle: 3 } }],
    ['logo', { logo: 'https://example.com/logo.png' }],
    ['logo', { logo: 'data:text/html;base64,AAAA' }],
    ['logo', { logo: `data:image/png;base64,${'A'.repeat(349_700)}` }],
    ['logo', { logo: 'logo:../../../../etc/passwd0000000000' }],
    ['logoScale', { logo: anyLogo, logoScale: 0.26 }],
    ['logoScale', { logo: anyLogo, logoScale: 0 }],
    ['', { colour: '#000' }],
  ])('%s is at fault in %o', (path, given) => {
    const result = design.safeParse(given);
    expect(result.success).toBe(false);
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
    expect(parseDesign(given)).toHaveProperty('faults');
  });
});

describe('style', () => {
  test('what styles alike has one key, what differs has another', () => {
    const keyOf = (given: Design): string => styleKey(styleOf(given));
    const keys = Object.values(designs).map(keyOf);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keyOf({ foreground: '#000', margin: 4 })).toBe(styleKey(plainStyle));
    expect(keyOf({ foreground: '#ABCDEF' })).toBe(keyOf({ foreground: '#abcdef' }));
    expect(styleOf(undefined)).toBe(plainStyle);
  });

  test('every field changes the version of the image', () => {
    const changes: Design[] = [
      { foreground: '#111' },
      { background: '#eee' },
      { background: 'transparent' },
      { errorCorrection: 'Q' },
      { margin: 5 },
      { dotStyle: 'dots' },
      { eyeStyle: 'circle' },
      { eyeColor: '#222' },
      { gradient: { from: '#000', to: '#111' } },
      { gradient: { from: '#000', to: '#111', type: 'radial' } },
      { logo: anyLogo },
      { logo: anyLogo, logoScale: 0.2 },
      {},
    ];
    const versions = changes.map((given) => imageVersion('HTTP://A.B/C', styleOf(given)));
    expect(new Set(versions).size).toBe(changes.length);
    expect(imageVersion('HTTP://A.B/D', plainStyle)).not.toBe(versions.at(-1));
  });

  test('a logo raises error correction to H unless another is asked for', () => {
    expect(styleOf({ logo: anyLogo }).errorCorrection).toBe('H');
    expect(styleOf({ logo: anyLogo, errorCorrection: 'Q' }).errorCorrection).toBe('Q');
    expect(styleOf({}).errorCorrection).toBe('M');
  });

  test('only squares of one color are a bitmap', () => {
    const bitmaps = Object.entries(designs).filter(([, given]) => isBitmap(styleOf(given)));
    const names = 'plain; two colors; transparent background; strong, wide margin; no margin';
    expect(bitmaps.map(([name]) => name).join('; ')).toBe(names);
  });
});

describe('legibility', () => {
  const faults = (given: Design): string[] =>
    legibilityFaults(styleOf(given), given).map(({ path, code }) => `${path} ${code}`);

  test.each(Object.entries(designs))('%s is legible', (_name, given) => {
    expect(faults(given)).toEqual([]);
  });

  test.each<[Design, string[]]>([
    [{ foreground: '#999999' }, ['design.foreground low_contrast']],
    [{ foreground: '#959595' }, ['design.foreground low_contrast']],
    [{ foreground: '#949494' }, []],
    [{ background: '#555' }, ['design.foreground low_contrast']],
    [{ foreground: '#fff', background: '#000' }, ['design.foreground inverted']],
    [{ foreground: '#ffff00', background: '#0000ff' }, ['design.foreground inverted']],
    [{ foreground: '#aaa', background: 'transparent' }, ['design.foreground low_contrast']],
    [{ foreground: '#fff', background: 'transparent' }, ['design.foreground low_contrast']],
    [{ eyeColor: '#ffcc00' }, ['design.eyeColor low_contrast']],
    [{ gradient: { from: '#000', to: '#ccc' } }, ['design.gradient.to low_contrast']],
    [
      { gradient: { from: '#eee', to: '#fff' }, background: '#444', eyeColor: '#999' },
      ['design.gradient.from inverted', 'design.gradient.to inverted', 'design.eyeColor inverted'],
    ],
    // What a gradient hides is not checked.
    [{ foreground: '#fff', gradient: { from: '#000', to: '#111' } }, []],
  ])('%o: %j', (given, expected) => {
    expect(faults(given)).toEqual(expected);
  });

  test('the advice names the ratio, rounded down', () => {
    const [fault] = legibilityFaults(styleOf({ foreground: '#959595' }), { foreground: '#959595' });
    expect(fault?.message).toMatch(/is 2\.9:1, expected at least 3:1/);
  });
});

/** The printed text: upper case where it means the same and pays, as written where case counts. */

describe('printedShortUrl', () => {
  it.each([
    ['http://localhost:8081', 'K7RM2X9D', 'HTTP://LOCALHOST:8081/K7RM2X9D'],
    ['https://qr.example.com', 'summer-sale', 'HTTPS://QR.EXAMPLE.COM/SUMMER-SALE'],
    ['https://example.com/Q', 'K7RM2X9D', 'HTTPS://EXAMPLE.COM/Q/K7RM2X9D'],
    ['https://example.com/q', 'K7RM2X9D', 'https://example.com/q/K7RM2X9D'],
    ['https://example.com', 'summer_sale', 'https://example.com/summer_sale'],
    ['http://[::1]:8081', 'K7RM2X9D', 'http://[::1]:8081/K7RM2X9D'],
  ])('prints %s and %s as %s', (base, shortCode, printed) => {
    expect(printedShortUrl(base, shortCode)).toBe(printed);
  });

  it('makes a smaller symbol: one version for a plain host, and the decoder agrees', async () => {
    const written = 'https://qr.example.com/K7RM2X9D';
    const printed = printedShortUrl('https://qr.example.com', 'K7RM2X9D');
    expect(createMatrix(written).side).toBe(29);
    expect(createMatrix(printed).side).toBe(25);
    const scanned = scanPng(await draw({ content: printed, format: 'png', size: 256 }));
    expect(scanned).toEqual({ content: printed, version: 2 });
    expect(new URL(printed).origin).toBe('https://qr.example.com');
  });
});
