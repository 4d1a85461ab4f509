/**
 * Formats and sizes of images and logos, for the threads that draw and for the schemas of the API. It imports no package,
 * which every drawing thread would load.
 */
import type { Style } from './design/style.ts';

export const imageFormats = ['png', 'svg', 'pdf', 'eps', 'webp'] as const;
export type ImageFormat = (typeof imageFormats)[number];

/** Edge of an image: pixels, or points for PDF and EPS. The largest fits a poster at 300 dots an inch. */
export const [sizeMin, sizeMax, sizeStandard] = [64, 4_096, 512];
/** Edge of a print: a business card to half a metre. */
export const [millimetresMin, millimetresMax] = [20, 500];
/** Formats whose size is that on paper. */
export const printFormats: ReadonlySet<ImageFormat> = new Set(['pdf', 'eps']);
export const pointsPerMillimetre = 72 / 25.4;

/** @returns undefined for formats that have no size on paper */
export function pointsOf(millimetres: number, format: ImageFormat): number | undefined {
  if (!printFormats.has(format)) return undefined;
  return Math.round(millimetres * pointsPerMillimetre * 1_000) / 1_000;
}

export interface ImageRequest {
  readonly content: string;
  readonly format: ImageFormat;
  /** Whole pixels; of PDF and EPS points, to a thousandth. */
  readonly size: number;
  /** Default `plainStyle`. */
  readonly style?: Style | undefined;
}

export const logoMediaTypes = ['image/png', 'image/jpeg', 'image/svg+xml'] as const;
export type LogoMediaType = (typeof logoMediaTypes)[number];
/** Of the file that is uploaded. */
export const logoBytesMax = 262_144;
