/**
 * Can a code in this style be scanned? The image is drawn, degraded as print and a phone camera degrade it,
 * and decoded by a library that shares nothing with the encoder (ZXing-C++). The result must equal the
 * content byte for byte.
 *
 *   small   3 pixels a module, blurred: a sticker at arm's length
 *   large   8 pixels a module, slightly blurred: a poster close by, where separate dots are hardest
 *
 * The decoder gets one try at each size, upright, dark on light, without the options that would find what
 * most phones do not. Its WebAssembly comes from the package's own file, never from the network.
 */
import type * as Reader from 'zxing-wasm/reader';
import type { Style } from './style.ts';
import { pictureOf } from '../draw/drawing.ts';
import type { LogoImage, Picture } from '../draw/picture.ts';
import { rasterise } from '../draw/raster.ts';
import { shipped } from '../../../platform/shipped.ts';

const views = [
  { pixelsPerModule: 3, blurSigma: 0.8 },
  { pixelsPerModule: 8, blurSigma: 1.2 },
] as const;

let loading: Promise<typeof Reader> | undefined;

export interface ScanRequest {
  readonly content: string;
  readonly style: Style;
  readonly logo?: LogoImage | undefined;
}

/** @throws Failure('validation_failed') when the content does not fit a symbol */
export async function isScannable({ content, style, logo }: ScanRequest): Promise<boolean> {
  const picture = pictureOf(content, style, logo);
  const expected = Buffer.from(content);
  for (const view of views) {
    const found = await scan(picture, view);
    if (found === undefined || !expected.equals(found)) return false;
  }
  return true;
}

async function scan(
  picture: Picture,
  { pixelsPerModule, blurSigma }: (typeof views)[number],
): Promise<Uint8Array | undefined> {
  const image = await rasterise(picture, picture.side * pixelsPerModule);
  // A transparent design is meant for white paper.
  const { data, info } = await image
    .flatten({ background: '#ffffff' })
    .blur(blurSigma)
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const pixels = new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength);
  const { readBarcodes } = await loadReader();
  const { width, height } = info;
  const found = await readBarcodes(
    { data: pixels, width, height, colorSpace: 'srgb' },
    {
      formats: ['QRCode'],
      tryHarder: false,
      tryRotate: false,
      tryInvert: false,
      tryDownscale: false,
      maxNumberOfSymbols: 1,
    },
  );
  return found[0]?.isValid === true ? found[0].bytes : undefined;
}

async function loadReader(): Promise<typeof Reader> {
  loading ??= import('zxing-wasm/reader').then((reader) => {
    const binary = Uint8Array.from(shipped.decoder());
    reader.prepareZXingModule({ overrides: { wasmBinary: binary.buffer } });
    return reader;
  });
  return await loading;
}
