/**
 * The logo of a brand, as its pages carry it: a WebP that is small enough to stand in the page, so that nothing is loaded.
 *
 *   file --> the checks of every logo (logo.ts) --> the largest size and the best quality that fit
 *
 * Twice the size at which it is shown (4 rem high, 12 wide), where that fits; a photograph gets smaller and blurred before
 * it is refused. Runs in the pool's threads only.
 */
import { brandLogoBytesMax } from '../../model/routing/pages.ts';
import { loadSharp } from '../draw/raster.ts';
import type { LogoMediaType } from '../formats.ts';
import { cleanLogo } from './logo.ts';

/** Width and height that it fits into, largest first. */
const boxes = [
  [384, 128],
  [288, 96],
  [192, 64],
  [144, 48],
  [96, 32],
  [48, 16],
] as const;
/** Below it shapes are hard to tell. A smaller size comes first. */
const qualities = [90, 70, 50, 35] as const;

/** @returns WebP @throws Failure validation_failed with the file's fault */
export async function drawBrandLogo(
  bytes: Uint8Array,
  mediaType: LogoMediaType,
): Promise<Uint8Array> {
  const { png } = await cleanLogo(bytes, mediaType);
  const sharp = await loadSharp();
  for (const [width, height] of boxes) {
    const fitted = sharp(png).resize({ width, height, fit: 'inside', withoutEnlargement: true });
    for (const options of [{ lossless: true, effort: 6 } as const, ...qualities.map(lossy)]) {
      const { buffer, byteOffset, length } = await fitted.clone().webp(options).toBuffer();
      if (length <= brandLogoBytesMax)
        return Uint8Array.from(new Uint8Array(buffer, byteOffset, length));
    }
  }
  throw new Error(`Cannot draw a logo in ${brandLogoBytesMax} bytes: no size was small enough`);
}

const lossy = (quality: number) => ({ quality, alphaQuality: quality, effort: 6 });
