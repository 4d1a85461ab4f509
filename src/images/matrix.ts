/**
 * The symbol: which modules are dark. The `qrcode` package does the coding (ISO/IEC 18004): it splits
 * the text into the cheapest mix of numeric, alphanumeric and byte segments and picks version and mask.
 */
import { create } from 'qrcode';
import { Failure } from '../model/failure.ts';

/** Error correction level: M restores about 15 % of the symbol, the usual choice for print. */
const errorCorrection = 'M';

/** Digits that the largest symbol holds: more characters than this need no attempt. */
const contentLengthMax = 5_596;

export interface Matrix {
  /** Modules on an edge, without the quiet zone: 21 (version 1) to 177 (version 40). */
  readonly side: number;
  /** One byte a module, row by row: 1 = dark. */
  readonly modules: Uint8Array;
}

/**
 * Codes `content`.
 * @throws Failure('validation_failed') when it is empty or more than a symbol holds (2,331 bytes)
 */
export function createMatrix(content: string): Matrix {
  if (content === '') throw refusal('too_short', 'There is nothing to draw, expected content');
  if (content.length > contentLengthMax) throw tooLong();
  try {
    const { modules } = create(content, { errorCorrectionLevel: errorCorrection });
    return { side: modules.size, modules: Uint8Array.from(modules.data) };
  } catch (error) {
    if (error instanceof Error && error.message.includes('too big')) throw tooLong();
    throw error;
  }
}

function tooLong(): Failure {
  return refusal('too_long', 'The content does not fit a QR code, expected at most 2,331 bytes');
}

function refusal(code: string, message: string): Failure {
  return new Failure('validation_failed', message, { faults: [{ path: 'target', code, message }] });
}
