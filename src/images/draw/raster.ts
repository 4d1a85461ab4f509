/**
 * Pictures as pixels: the SVG, drawn by librsvg through sharp. For looks that are not two colours in
 * squares, and for WebP. Runs in the pool's threads only.
 *
 * Square modules fall on whole pixels while they have a few, so that edges are crisp, and the rest of the
 * size goes to the ground. Small ones, and round ones, share pixels instead, because a symbol that uses all
 * of its size reads better. A transparent ground is white underneath, not the black that renderers leave:
 * readers that drop the alpha channel (jsQR, zbarimg) see nothing else. sharp is loaded by the first picture
 * that needs it: 60 ms and 20 MB that a thread of plain codes never pays.
 */
import type sharp from 'sharp';
import type { Sharp } from 'sharp';
import { fitPixels } from './png.ts';
import type { Picture } from './picture.ts';
import { writeSvg, type View } from './svg.ts';

/** Below it a whole number of pixels a module would waste up to a third of the image. */
const wholePixelsMin = 4;
/** 4,096 x 4,096, the largest image there is, and nothing beyond it. */
const pixelsMax = 4_096 * 4_096;
/**
 * WebP without loss for flat colours, whose pixels it packs well. A gradient or a photograph of 4,096 px
 * takes 9 s that way and 1 s at this quality, where nobody sees the loss. Exact: what is under a transparent
 * pixel stays.
 */
const webpFlat = { lossless: true, effort: 1, exact: true };
const webpShaded = { quality: 90, effort: 2, exact: true };
/** Red, green, blue, alpha from the lowest byte on: every platform there is a binary for is little-endian. */
const whiteUnderneath = 0x00ffffff;
/** zlib's own default; above it large gradients take seconds for little. */
const pngCompression = 6;

let loading: Promise<typeof sharp> | undefined;

/** sharp, bounded: one core of libvips's own, and no cache of operations, of which none comes twice. */
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

/** The same image, white wherever it is wholly transparent: there a renderer leaves four zeros. */
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

/** What crosses threads is copied with its whole buffer, and a Buffer may be a view of a larger one. */
function ownBytes(buffer: Buffer): Uint8Array {
  return Uint8Array.from(buffer);
}
