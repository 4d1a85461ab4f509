/**
 * One image from one text: matrix, then the writer of the format. Pure and deterministic: the same
 * request makes the same bytes, in any thread, on any day. Runs in the pool's threads; a test or a
 * bench may call it where it stands.
 */
import { Failure } from '../model/failure.ts';
import { createMatrix } from './matrix.ts';
import { writePng } from './png.ts';
import { writeSvg } from './svg.ts';

/** Light modules around the symbol: the quiet zone that ISO/IEC 18004 asks for. */
const marginModules = 4;

export type ImageFormat = 'png' | 'svg';

export interface ImageRequest {
  readonly content: string;
  readonly format: ImageFormat;
  /** Edge of the square image in pixels. */
  readonly size: number;
}

/**
 * @throws Failure('validation_failed') when the content does not fit a symbol, or the symbol with its
 *   quiet zone does not fit `size` at one pixel a module
 */
export function draw(request: ImageRequest): Uint8Array {
  const { size } = request;
  const matrix = createMatrix(request.content);
  const sizeMin = matrix.side + 2 * marginModules;
  if (!Number.isInteger(size) || size < sizeMin) {
    const message = `The image is too small for its content, expected a size of at least ${sizeMin}`;
    throw new Failure('validation_failed', message, {
      faults: [{ path: 'size', code: 'too_small', message }],
    });
  }
  return request.format === 'png'
    ? writePng(matrix, { size, marginModules })
    : writeSvg(matrix, { size, marginModules });
}
