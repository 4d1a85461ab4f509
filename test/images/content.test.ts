/** The printed text: upper case where it means the same and pays, as written where case counts. */
import { describe, expect, it } from 'vitest';
import { imageContent, printedShortUrl } from '../../src/images/content.ts';
import { draw } from '../../src/images/draw/drawing.ts';
import { createMatrix } from '../../src/images/draw/matrix.ts';
import { scanPng } from './read-image.ts';

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

describe('imageContent', () => {
  it('is the short URL of a dynamic code, whatever its target', () => {
    const source = { dynamic: true, shortCode: 'K7RM2X9D', target: 'https://example.com/' };
    const content = imageContent(source, 'http://localhost:8081');
    expect(content).toBe('HTTP://LOCALHOST:8081/K7RM2X9D');
    expect(
      imageContent({ ...source, target: 'https://other.example/' }, 'http://localhost:8081'),
    ).toBe(content);
  });

  it.each(['https://example.com/Path?q=1', 'WIFI:T:WPA;S:a;P:b;;', 'geo:52.5,13.4'])(
    'is the target itself of a static code: %s',
    (target) => {
      expect(imageContent({ dynamic: false, target }, 'http://localhost:8081')).toBe(target);
    },
  );

  it('refuses a dynamic code without a short code: it cannot exist', () => {
    expect(() => imageContent({ dynamic: true, target: 'x' }, 'http://localhost:8081')).toThrow(
      /no short code/,
    );
  });
});
