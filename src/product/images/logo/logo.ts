/**
 * Cleans an uploaded logo: the result is a new PNG of at most 1,024 pixels on an edge, made from the decoded
 * pixels. Nothing else of the file survives: no script, no reference, no metadata.
 *
 *   bytes --> signature --> header: number of pixels --> decode --> fit --> PNG
 *
 * The size is checked in the header, before anything is decoded. An SVG is refused, not repaired, when it
 * refers to anything outside itself, declares entities, or would take long to draw (svg-cost.ts). librsvg
 * draws it from memory, without a base address, and therefore reads no files either.
 * Runs in the pool's threads only.
 */
import { Failure } from '../../../model/failure.ts';
import { brandLogoBytesMax } from '../../../model/routing/pages.ts';
import type { LogoImage } from '../draw/picture.ts';
import { loadSharp } from '../draw/raster.ts';
import { logoBytesMax, type LogoMediaType } from '../formats.ts';
import { svgCost, svgCostMax } from './svg-cost.ts';

/** Of the stored PNG: a quarter of the largest image's edge, so that it is never enlarged. */
const edgeMax = 1_024;
/** Of the uploaded file: 64 MB decoded. */
const pixelsMax = 16_777_216;
/** A larger PNG (mostly photographs) is made again at half the edge. */
const storedBytesMax = 1_048_576;
/** librsvg's default dots per inch, and its upper bound. */
const [densityStandard, densityMax] = [72, 2_400];

const sniffs: Readonly<Record<LogoMediaType, (bytes: Uint8Array) => boolean>> = {
  'image/png': (bytes) => startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  'image/jpeg': (bytes) => startsWith(bytes, [0xff, 0xd8, 0xff]),
  'image/svg+xml': () => true,
};

/** Width and height of a brand's logo at most, largest first. */
const boxes = [
  [384, 128],
  [288, 96],
  [192, 64],
  [144, 48],
  [96, 32],
  [48, 16],
] as const;
/** Below the last one, shapes are hard to recognize. A smaller size is tried first. */
const qualities = [90, 70, 50, 35] as const;

/** @throws Failure validation_failed with the file's fault */
export async function cleanLogo(bytes: Uint8Array, mediaType: LogoMediaType): Promise<LogoImage> {
  if (bytes.length > logoBytesMax) throw bad('too_big', `Expected at most ${logoBytesMax} bytes`);
  if (!sniffs[mediaType](bytes)) throw bad('wrong_type', `The file is not ${mediaType}`);
  const isVector = mediaType === 'image/svg+xml';
  if (isVector) assertHarmless(bytes);
  const sharp = await loadSharp();
  const options = { limitInputPixels: pixelsMax, failOn: 'error' } as const;
  const header = await sharp(bytes, options)
    .metadata()
    .catch(() => undefined);
  const { width = 0, height = 0 } = header ?? {};
  if (width < 1 || height < 1) throw bad('unreadable', 'The file cannot be read as an image');
  if (width * height > pixelsMax) {
    throw bad(
      'too_big',
      `The image has ${width} x ${height} pixels, expected at most ${pixelsMax}`,
    );
  }
  const density = isVector ? densityFor(Math.max(width, height)) : undefined;
  const source = sharp(bytes, { ...options, ...(density === undefined ? {} : { density }) });
  for (const edge of [edgeMax, edgeMax / 2]) {
    const { data, info } = await source
      .clone()
      .autoOrient()
      .resize({ width: edge, height: edge, fit: 'inside', withoutEnlargement: !isVector })
      .toColourspace('srgb')
      .png({ compressionLevel: 9 })
      .toBuffer({ resolveWithObject: true })
      .catch(() => {
        throw bad('unreadable', 'The file cannot be read as an image');
      });
    const logo = { png: Uint8Array.from(data), width: info.width, height: info.height };
    if (data.length <= storedBytesMax || edge < edgeMax) return logo;
  }
  throw new Error('Cannot fit a logo: no edge was tried');
}

/** The density at which the drawing's longer edge has `edgeMax` pixels. */
function densityFor(longerEdge: number): number {
  const density = (densityStandard * edgeMax) / longerEdge;
  return Math.min(densityMax, Math.max(1, density));
}

function assertHarmless(bytes: Uint8Array): void {
  const text = decode(bytes);
  if (!/<svg[\s>]/.test(text)) throw bad('wrong_type', 'The file is not image/svg+xml');
  if (/<!ENTITY|<!DOCTYPE[^>]{0,999}\[/i.test(text)) throw bad('unsafe', 'It declares entities');
  if (/<\?xml-stylesheet|@import/i.test(text)) throw bad('unsafe', 'It brings in a style sheet');
  if (/<(?:\w+:)?script[\s>/]/i.test(text)) throw bad('unsafe', 'It holds a script');
  // A reference that is not plainly inside the file counts as outside.
  for (const [, , value = ''] of text.matchAll(/href\s{0,9}=\s{0,9}(["'])(.*?)\1/gis)) {
    if (!isInside(value)) throw bad('unsafe', 'It refers to something outside itself');
  }
  for (const [, value = ''] of text.matchAll(
    /url\s{0,9}\(\s{0,9}(?:["']|&quot;|&apos;)?([^)]{0,9})/gi,
  )) {
    if (!value.startsWith('#')) throw bad('unsafe', 'It refers to something outside itself');
  }
  if (svgCost(text) > svgCostMax) {
    throw bad(
      'too_complex',
      'It has too many elements, repetitions or effects: simplify the drawing',
    );
  }
}

/** Refers into the file, without escapes, so that librsvg looks up the text that was checked. */
const isInside = (reference: string): boolean => /^\s*#[^&]*$/.test(reference);

/** UTF-8 only: in another encoding the checks would read other text than librsvg. */
function decode(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw bad('unreadable', 'The SVG is not in UTF-8');
  }
  const encoding = /^\s*<\?xml[^>]*encoding\s*=\s*["']([^"']*)/i.exec(text)?.[1];
  const isUtf8 = encoding === undefined || encoding.toLowerCase() === 'utf-8';
  if (!isUtf8 || text.includes('\u0000')) throw bad('unreadable', 'The SVG is not in UTF-8');
  return text;
}

function startsWith(bytes: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, at) => bytes[at] === byte);
}

function bad(code: string, message: string): Failure {
  const detail = `The logo cannot be used: ${message}`;
  return new Failure('validation_failed', detail, {
    faults: [{ path: 'design.logo', code, message }],
  });
}

/**
 * A logo as brand pages carry it: a WebP that fits into the page. Twice the shown size (4 rem high, 12 wide) if that fits;
 * a photograph gets smaller and blurred before it is refused.
 * @returns WebP @throws Failure validation_failed with the file's fault
 */
export async function drawBrandLogo(
  bytes: Uint8Array,
  mediaType: LogoMediaType,
): Promise<Uint8Array> {
  const { png } = await cleanLogo(bytes, mediaType);
  const sharp = await loadSharp();
  for (const [width, height] of boxes) {
    const fitted = sharp(png).resize({ width, height, fit: 'inside', withoutEnlargement: true });
    for (const options of [{ lossless: true, effort: 6 } as const, ...qualities.map(lossy)]) {
      const { buffer, byteOffset, length } = await fitted.clone().webp(options).toBuffer();
      if (length <= brandLogoBytesMax)
        return Uint8Array.from(new Uint8Array(buffer, byteOffset, length));
    }
  }
  throw new Error(`Cannot draw a logo in ${brandLogoBytesMax} bytes: no size was small enough`);
}

const lossy = (quality: number) => ({ quality, alphaQuality: quality, effort: 6 });
