/**
 * Pictures as pixels: the SVG, drawn by librsvg through sharp. For styles that are not two colors in
 * squares, and for WebP. Runs in the pool's threads only.
 *
 * Square modules of 4 pixels or more fall on whole pixels, so that edges are crisp, and the rest of the size
 * goes to the background. Smaller ones and round ones share pixels instead, because a symbol that uses its
 * full size reads better. Transparent pixels are white, not the black that renderers leave: readers that drop
 * the alpha channel (jsQR, zbarimg) see nothing else. sharp is loaded by the first picture that needs it:
 * 60 ms and 20 MB that a thread of plain codes never pays.
 */
import type sharp from 'sharp';
import type { Sharp } from 'sharp';
import { fitPixels } from './png.ts';
import type { Picture } from './picture.ts';
import { writeSvg, type View } from './svg.ts';

/** Below it a whole number of pixels a module would waste up to a third of the image. */
const wholePixelsMin = 4;
/** The largest image. */
const pixelsMax = 4_096 * 4_096;
/**
 * Lossless WebP for flat colors, which it packs well. A gradient or a photograph of 4,096 px takes 9 s that
 * way and 1 s at this quality, where the loss is invisible. Exact: the color of transparent pixels stays.
 */
const webpFlat = { lossless: true, effort: 1, exact: true };
const webpShaded = { quality: 90, effort: 2, exact: true };
/** Red, green, blue, alpha from the lowest byte on: every platform there is a binary for is little-endian. */
const whiteUnderneath = 0x00ffffff;
/** zlib's own default; above it large gradients take seconds for little. */
const pngCompression = 6;

let loading: Promise<typeof sharp> | undefined;

/** sharp with one core for libvips and without its cache of operations, since none repeats. */
export async function loadSharp(): Promise<typeof sharp> {
  loading ??= import('sharp').then(({ default: loaded }) => {
    loaded.cache(false);
    loaded.concurrency(1);
    return loaded;
  });
  return await loading;
}

export async function writeRaster(
  picture: Picture,
  size: number,
  format: 'png' | 'webp',
): Promise<Uint8Array> {
  const drawn = await rasterise(picture, size);
  const image =
    picture.background === undefined ? await whitenUnderneath(drawn) : drawn.removeAlpha();
  const isShaded =
    picture.logo !== undefined || picture.shapes.some(({ paint }) => paint.kind !== 'flat');
  const encoded =
    format === 'png'
      ? image.png({ compressionLevel: pngCompression })
      : image.webp(isShaded ? webpShaded : webpFlat);
  return ownBytes(await encoded.toBuffer());
}

/** The same image, white where it is fully transparent: renderers leave four zeros there. */
async function whitenUnderneath(image: Sharp): Promise<Sharp> {
  const render = await loadSharp();
  const { data, info } = await image.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const pixels = new Uint32Array(data.buffer, data.byteOffset, data.length / 4);
  for (let at = 0; at < pixels.length; at += 1) {
    if (pixels[at] === 0) pixels[at] = whiteUnderneath;
  }
  return render(data, { raw: { width: info.width, height: info.height, channels: 4 } });
}

/** The picture as an image of `size` pixels, not yet computed. */
export async function rasterise(picture: Picture, size: number): Promise<Sharp> {
  const render = await loadSharp();
  const svg = writeSvg(picture, pixelView(picture, size));
  return render(Buffer.from(svg), { limitInputPixels: pixelsMax });
}

/** A PNG made from the matrix, as WebP. */
export async function webpOfPng(png: Uint8Array): Promise<Uint8Array> {
  const open = await loadSharp();
  const image = open(png, { limitInputPixels: pixelsMax });
  return ownBytes(await image.webp(webpFlat).toBuffer());
}

function pixelView(picture: Picture, size: number): View {
  const { side, marginModules } = picture;
  const { scale, offset } = fitPixels(side - 2 * marginModules, { size, marginModules });
  if (scale < wholePixelsMin || !picture.isOnGrid) return { size, start: 0, side };
  return { size, start: marginModules - offset / scale, side: size / scale };
}

/** Messages between threads copy the whole underlying buffer, and a Buffer may be a view of a larger one. */
function ownBytes(buffer: Buffer): Uint8Array {
  return Uint8Array.from(buffer);
}
