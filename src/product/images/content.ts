/**
 * The text that an image encodes.
 *
 * QR's alphanumeric mode (0-9 A-Z space $ % * + - . / :) needs 5.5 bits a character, bytes need 8.
 * Scheme and host of a URL are case-insensitive, and short codes resolve in any case, so a short URL
 * may be printed in upper case: fewer modules, each of them larger on the same paper.
 *
 *   https://qr.example.com/K7RM2X9D   31 characters, byte mode           version 3-M, 29 x 29 modules
 *   HTTPS://QR.EXAMPLE.COM/K7RM2X9D   31 characters, alphanumeric mode   version 2-M, 25 x 25 modules
 */
import type { QrCodeRecord } from '../../model/code.ts';

const alphanumericOnly = /^[0-9A-Z $%*+\-./:]*$/;
const originAndPath = /^(https?:\/\/[^/?#]*)(.*)$/i;

/** The parts of a code that its image depends on. */
export type ImageSource = Pick<QrCodeRecord, 'dynamic' | 'shortCode' | 'target'>;

/**
 * The text in the image of a code: the short URL of a dynamic code, the target itself of a static one.
 * It depends on nothing that can change after printing.
 * @param shortUrlBase public address of short links, without a trailing slash
 */
export function imageContent(source: ImageSource, shortUrlBase: string): string {
  if (!source.dynamic) return source.target;
  if (source.shortCode === undefined) {
    throw new Error('Cannot draw a dynamic code: it has no short code, expected one');
  }
  return printedShortUrl(shortUrlBase, source.shortCode);
}

/**
 * The short URL as it is printed: in upper case if that means the same and fits alphanumeric mode, otherwise
 * as written. The case of a path in the base may matter, so lower-case letters there keep the whole URL as
 * it is.
 */
export function printedShortUrl(shortUrlBase: string, shortCode: string): string {
  const url = `${shortUrlBase}/${shortCode}`;
  const path = originAndPath.exec(shortUrlBase)?.[2];
  if (path === undefined || /[a-z]/.test(path)) return url;
  const upper = url.toUpperCase();
  return alphanumericOnly.test(upper) ? upper : url;
}
