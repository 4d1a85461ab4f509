/** The logo of a brand always fits a page, keeps its shape and its transparency, and is checked as every logo is. */
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { drawBrandLogo } from '../../src/images/logo/logo.ts';
import { brandLogoBytesMax } from '../../src/model/routing/pages.ts';
import { roundLogo } from './sample-designs.ts';

/** Pixels that no format packs well: the worst photograph. */
async function noise(width: number, height: number): Promise<Buffer> {
  let seed = 1;
  const bytes = Buffer.from(
    Array.from({ length: width * height * 4 }, () => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return seed >>> 24;
    }),
  );
  return await sharp(bytes, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
}

describe('drawBrandLogo', () => {
  test('draws shapes as WebP with their transparency', async () => {
    const drawn = await drawBrandLogo(Buffer.from(roundLogo), 'image/svg+xml');
    expect(drawn.length).toBeLessThanOrEqual(brandLogoBytesMax);
    const { format, width, height, hasAlpha } = await sharp(drawn).metadata();
    expect([format, hasAlpha, width === height]).toEqual(['webp', true, true]);
    expect(height).toBeGreaterThanOrEqual(48);
  });

  test.each([
    [250, 250],
    [700, 90],
    [20, 3_000],
    [1, 1],
  ])('fits whatever the picture has: %i x %i', async (width, height) => {
    const drawn = await drawBrandLogo(await noise(width, height), 'image/png');
    expect(drawn.length).toBeLessThanOrEqual(brandLogoBytesMax);
    const shape = await sharp(drawn).metadata();
    const isSmall = width <= 384 && height <= 128;
    if (!isSmall) expect(shape.width < width || shape.height < height).toBe(true);
  });

  test('refuses what no logo may be', async () => {
    const script = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>');
    await expect(drawBrandLogo(script, 'image/svg+xml')).rejects.toThrow('holds a script');
    await expect(drawBrandLogo(Buffer.from('no'), 'image/png')).rejects.toThrow('is not image/png');
  });
});
