/**
 * One image from one text and one style: matrix, picture, then the writer of the format. Deterministic:
 * the same request gives the same bytes, in any thread, on any day. Runs in the pool's threads; tests and
 * benches call it directly.
 *
 *   content --> matrix --+--> two colors in squares: PNG straight from the matrix (-> WebP)
 *                        +--> picture --> SVG --> PNG, WebP
 *                                     --> PDF
 *                                     --> EPS
 */
import { invalid } from '../../../model/failure.ts';
import {
  type ImageFormat,
  type ImageRequest,
  pointsPerMillimetre,
  printFormats,
  sizeMax,
} from '../formats.ts';
import { writeEps } from './eps.ts';
import { isBitmap, type Style, plainStyle } from '../design/style.ts';
import { createMatrix, type Matrix } from './matrix.ts';
import { writePdf } from './pdf.ts';
import { createPicture, type LogoImage, type Picture } from './picture.ts';
import { writePng } from './png.ts';
import { webpOfPng, writeRaster } from './raster.ts';
import { wholeView, writeSvg } from './svg.ts';

/** A request with the logo of its style. */
export interface DrawRequest extends ImageRequest {
  readonly logo?: LogoImage | undefined;
}

/**
 * @throws Failure('validation_failed') when the content does not fit a symbol, or the symbol with its
 *   quiet zone does not fit `size` at one pixel a module
 */
export async function draw(request: DrawRequest): Promise<Uint8Array> {
  const { size, format, content, style = plainStyle } = request;
  const matrix = createMatrix(content, style.errorCorrection);
  assertFits(matrix, style, request);
  if (isBitmap(style) && (format === 'png' || format === 'webp')) {
    const png = bitmapOf(matrix, style, size);
    return format === 'png' ? png : await webpOfPng(png);
  }
  return await write(createPicture(matrix, style, request.logo), size, format);
}

/** The picture before any format, for the scannability check. @throws Failure as `draw` */
export function pictureOf(content: string, style: Style, logo: LogoImage | undefined): Picture {
  return createPicture(createMatrix(content, style.errorCorrection), style, logo);
}

async function write(picture: Picture, size: number, format: ImageFormat): Promise<Uint8Array> {
  switch (format) {
    case 'svg':
      return new TextEncoder().encode(writeSvg(picture, wholeView(picture, size)));
    case 'pdf':
      return await writePdf(picture, size);
    case 'eps':
      return await writeEps(picture, size);
    default:
      return await writeRaster(picture, size, format);
  }
}

function bitmapOf(matrix: Matrix, style: Style, size: number): Uint8Array {
  const { modules, background, marginModules } = style;
  if (modules.kind !== 'flat') throw new Error('Cannot draw a gradient in two colors');
  return writePng(matrix, { size, marginModules }, { foreground: modules.color, background });
}

function assertFits(matrix: Matrix, style: Style, { size, format }: ImageRequest): void {
  const least = matrix.side + 2 * style.marginModules;
  const isPrint = printFormats.has(format);
  if ((isPrint || Number.isInteger(size)) && size >= least && size <= sizeMax) return;
  const inPrint = `${least} points (${Math.ceil(least / pointsPerMillimetre)} mm)`;
  const wanted = isPrint ? inPrint : `${least} pixels`;
  const message = `The image is too small for its content, expected a size of at least ${wanted}`;
  throw invalid('size', 'too_small', message);
}
