/**
 * The matrix of a symbol: which modules are dark. The `qrcode` package does the encoding (ISO/IEC 18004): it
 * splits the text into the cheapest mix of numeric, alphanumeric and byte segments and picks version and mask.
 */
import { create } from 'qrcode';
import type { ErrorCorrection } from '../../model/design.ts';
import { type Failure, invalid } from '../../model/failure.ts';

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
    const { modules } = create(content, { errorCorrectionLevel: errorCorrection });
    return { side: modules.size, modules: Uint8Array.from(modules.data) };
  } catch (error) {
    if (error instanceof Error && error.message.includes('too big')) throw tooLong(errorCorrection);
    throw error;
  }
}

function tooLong(errorCorrection: ErrorCorrection): Failure {
  const bytes = bytesMax[errorCorrection].toLocaleString('en');
  const most = `expected at most ${bytes} bytes at error correction ${errorCorrection}`;
  return invalid('target', 'too_long', `The content does not fit a QR code, ${most}`);
}
