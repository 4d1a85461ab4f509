/**
 * Reads images back by other people's code: PNG by pngjs, PDF by MuPDF, WebP and SVG by sharp, symbols by
 * jsQR and ZXing. No package reads EPS: its few operators are carried out by read-eps.ts.
 * Paths of a plain SVG are also rasterised here by the even-odd rule over module centres, which shares
 * nothing with the writer.
 */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import jsqr from 'jsqr';
import * as mupdf from 'mupdf';
import { PNG } from 'pngjs';
import sharp from 'sharp';
import { prepareZXingModule, readBarcodes, type ReadResult } from 'zxing-wasm/reader';
import { epsAsSvg } from './read-eps.ts';

const decode = jsqr.default;

export interface ReadPng {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8ClampedArray;
}

const wasm = createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm');
prepareZXingModule({ overrides: { wasmBinary: Uint8Array.from(readFileSync(wasm)).buffer } });

export type Format = 'png' | 'svg' | 'webp' | 'pdf' | 'eps';

/** The picture on white paper, at its own size. */
export async function readAny(bytes: Uint8Array, format: Format): Promise<ReadPng> {
  if (format === 'png') return onWhite(readPng(bytes));
  if (format === 'pdf') return readPdf(bytes);
  const file = format === 'eps' ? Buffer.from(epsAsSvg(bytes)) : bytes;
  const white = sharp(file).flatten({ background: '#ffffff' }).toColourspace('srgb');
  const { data, info } = await white.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgba: new Uint8ClampedArray(data) };
}

function onWhite({ width, height, rgba }: ReadPng): ReadPng {
  const flat = rgba.map((value, at) => {
    if (at % 4 === 3) return 255;
    const alpha = (rgba[at - (at % 4) + 3] ?? 255) / 255;
    return Math.round(value * alpha + 255 * (1 - alpha));
  });
  return { width, height, rgba: flat };
}

function readPdf(bytes: Uint8Array): ReadPng {
  const document = mupdf.Document.openDocument(bytes, 'application/pdf');
  const page = document.loadPage(0);
  const pixmap = page.toPixmap(mupdf.Matrix.identity, mupdf.ColorSpace.DeviceRGB, false, true);
  const picture = readPng(pixmap.asPNG());
  for (const part of [pixmap, page, document]) part.destroy();
  return picture;
}

/** What two decoders that know nothing of each other find: both, or it is not readable. */
export async function scanBoth(
  picture: ReadPng,
): Promise<[string | undefined, string | undefined]> {
  const { rgba, width, height } = picture;
  const found = decode(rgba, width, height, { inversionAttempts: 'dontInvert' });
  return [found?.data, (await readZxing(picture))?.text];
}

export async function readZxing({ rgba, width, height }: ReadPng): Promise<ReadResult | undefined> {
  const image = { data: new Uint8ClampedArray(rgba), width, height, colorSpace: 'srgb' } as const;
  const [found] = await readBarcodes(image, { formats: ['QRCode'] });
  return found?.isValid === true ? found : undefined;
}

export function readPng(bytes: Uint8Array): ReadPng {
  const png = PNG.sync.read(Buffer.from(bytes));
  return { width: png.width, height: png.height, rgba: new Uint8ClampedArray(png.data) };
}

/** Content and version of the symbol in a PNG, undefined when no symbol is found. */
export function scanPng(bytes: Uint8Array): { content: string; version: number } | undefined {
  const { width, height, rgba } = readPng(bytes);
  const found = decode(rgba, width, height, { inversionAttempts: 'dontInvert' });
  return found === null ? undefined : { content: found.data, version: found.version };
}

/** Dark modules of an SVG of ours, with the quiet zone: `rows[y][x]`. */
export function readSvg(bytes: Uint8Array): { size: number; rows: boolean[][] } {
  const text = new TextDecoder().decode(bytes);
  const size = Number(/ width="(\d+)" height="\1"/.exec(text)?.[1]);
  const side = Number(/viewBox="0 0 (\d+) \1"/.exec(text)?.[1]);
  const paths = [...text.matchAll(/<path fill="(#\w+)" d="([^"]*)"\/>/g)];
  const dark = paths.find(([, fill]) => fill === '#000')?.[2] ?? '';
  // Every vertical run flips all modules to its right on the rows that it passes.
  const rows = Array.from({ length: side }, () => Array.from({ length: side }, () => false));
  let x = 0;
  let y = 0;
  for (const [, command, first, second] of dark.matchAll(/([Mhvz])(-?\d+)?(?: (\d+))?/g)) {
    const amount = Number(first ?? 0);
    if (command === 'M') [x, y] = [amount, Number(second)];
    if (command === 'h') x += amount;
    if (command !== 'v') continue;
    for (let row = Math.min(y, y + amount); row < Math.max(y, y + amount); row += 1) {
      const line = rows[row] ?? [];
      for (let column = x; column < side; column += 1) line[column] = line[column] !== true;
    }
    y += amount;
  }
  return { size, rows };
}

/** The same rows drawn as pixels, `scale` a module, and scanned. */
export function scanRows(rows: boolean[][], scale: number): string | undefined {
  const edge = rows.length * scale;
  const rgba = new Uint8ClampedArray(edge * edge * 4).fill(255);
  for (let y = 0; y < edge; y += 1) {
    for (let x = 0; x < edge; x += 1) {
      if (rows[Math.floor(y / scale)]?.[Math.floor(x / scale)] !== true) continue;
      rgba.fill(0, (y * edge + x) * 4, (y * edge + x) * 4 + 3);
    }
  }
  return decode(rgba, edge, edge)?.data;
}
