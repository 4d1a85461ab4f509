/**
 * Can it be read? The image is drawn as it will be, made worse as print and a phone make it, and given to
 * a decoder that shares nothing with the encoder (ZXing-C++); what comes back must be the content, byte
 * for byte.
 *
 *   small   3 pixels a module, blurred: a sticker, held at arm's length
 *   large   8 pixels a module, a little blurred: a poster close by, where dots come apart
 *
 * The decoder gets one look at each, upright, dark on light, without the tricks that would find what most
 * phones do not. Its WebAssembly comes from the package's own file, never from the network.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Reader from 'zxing-wasm/reader';
import type { Style } from './style.ts';
import { pictureOf } from '../draw/drawing.ts';
import type { LogoImage, Picture } from '../draw/picture.ts';
import { rasterise } from '../draw/raster.ts';

const views = [
  { pixelsPerModule: 3, blurSigma: 0.8 },
  { pixelsPerModule: 8, blurSigma: 1.2 },
] as const;

let loading: Promise<typeof Reader> | undefined;

export interface ScanRequest {
  readonly content: string;
  readonly look: Style;
  readonly logo?: LogoImage | undefined;
}

/** @throws Failure('validation_failed') when the content does not fit a symbol */
export async function isScannable({ content, look, logo }: ScanRequest): Promise<boolean> {
  const picture = pictureOf(content, look, logo);
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
  // Transparent is what the contract of a design says it is for: white paper.
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
    const file = createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm');
    const binary = Uint8Array.from(readFileSync(file));
    reader.prepareZXingModule({ overrides: { wasmBinary: binary.buffer } });
    return reader;
  });
  return await loading;
}
