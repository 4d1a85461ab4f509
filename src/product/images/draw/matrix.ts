/**
 * The matrix of a symbol: which modules are dark. The `qrcode` package does the encoding (ISO/IEC 18004): it
 * splits the text into the cheapest mix of numeric, alphanumeric and byte segments and picks version and mask.
 * Text beyond ASCII begins with an ECI header that names UTF-8: without one, readers guess the character set.
 */
import { create, type QRCode, type QRCodeSegment } from 'qrcode';
import type { ErrorCorrection } from '../../../model/design.ts';
import { type Failure, invalid } from '../../../model/failure.ts';

/** Digits that the largest symbol holds at L: longer content is refused without an attempt. */
const contentLengthMax = 7_089;
/** Bytes that the largest symbol holds. ISO/IEC 18004, table 7. */
const bytesMax: Readonly<Record<ErrorCorrection, number>> = {
  L: 2_953,
  M: 2_331,
  Q: 1_663,
  H: 1_273,
};

export interface Matrix {
  /** Modules on an edge, without the quiet zone: 21 (version 1) to 177 (version 40). */
  readonly side: number;
  /** One byte a module, row by row: 1 = dark. */
  readonly modules: Uint8Array;
}

/**
 * Encodes `content`.
 * @param errorCorrection M restores about 15 % of the symbol, the usual choice for print
 * @throws Failure('validation_failed') when it is empty or more than a symbol holds
 */
export function createMatrix(content: string, errorCorrection: ErrorCorrection = 'M'): Matrix {
  if (content === '')
    throw invalid('target', 'too_short', 'There is nothing to draw, expected content');
  if (content.length > contentLengthMax) throw tooLong(errorCorrection);
  try {
    const { modules } = encode(content, errorCorrection);
    return { side: modules.size, modules: Uint8Array.from(modules.data) };
  } catch (error) {
    if (error instanceof Error && error.message.includes('too big')) throw tooLong(errorCorrection);
    throw error;
  }
}

/** ECI mode and assignment 26, UTF-8, as the package writes a segment: its mode, its length, no data. */
const utf8Header = {
  mode: { bit: 0b0111, ccBits: [8, 8, 8] },
  getLength: () => 26,
  getBitsLength: () => 0,
  write: () => undefined,
};

function encode(content: string, errorCorrectionLevel: ErrorCorrection): QRCode {
  const plain = create(content, { errorCorrectionLevel });
  if (Buffer.byteLength(content) === content.length) return plain;
  // The package makes segments of the known modes alone, by `reduce` over an array: this one has them already.
  const segments: QRCodeSegment[] = [];
  Object.assign(segments, { reduce: () => [utf8Header, ...plain.segments] });
  return create(segments, { errorCorrectionLevel });
}

function tooLong(errorCorrection: ErrorCorrection): Failure {
  const bytes = bytesMax[errorCorrection].toLocaleString('en');
  const most = `expected at most ${bytes} bytes at error correction ${errorCorrection}`;
  return invalid('target', 'too_long', `The content does not fit a QR code, ${most}`);
}
