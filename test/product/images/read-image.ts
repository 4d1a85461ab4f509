/**
 * Reads images back by other people's code: PNG by pngjs, PDF by MuPDF, WebP and SVG by sharp, symbols by
 * jsQR and ZXing. No package reads EPS: `epsAsSvg` does.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { inflateSync } from 'node:zlib';
import jsqr from 'jsqr';
import * as mupdf from 'mupdf';
import { PNG } from 'pngjs';
import sharp from 'sharp';
import type { ImageFormat } from '../../../src/product/images/formats.ts';
import { prepareZXingModule, readBarcodes, type ReadResult } from 'zxing-wasm/reader';

const decode = jsqr.default;

export interface ReadPng {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8ClampedArray;
}

const wasm = createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm');
prepareZXingModule({ overrides: { wasmBinary: Uint8Array.from(readFileSync(wasm)).buffer } });

/** The picture on white paper, at its own size. */
export async function readAny(bytes: Uint8Array, format: ImageFormat): Promise<ReadPng> {
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

const rgbPattern = String.raw`([\d.]+) ([\d.]+) ([\d.]+)`;
const pathPattern = String.raw`([-\d. \nmlcz]*z\n)`;
const rgb = (channels: readonly string[]): string =>
  `rgb(${channels.map((channel) => Math.round(Number(channel) * 255)).join()})`;
/** Numbers stand before their command. */
const pathAsSvg = (path = ''): string =>
  path.replace(/([-\d. ]*)([mlcz])\n/g, (_, numbers: string, command: string) =>
    command === 'm' ? `M${numbers}` : `${command}${numbers}`,
  );

/** All that our EPS files draw. */
const epsParts: ReadonlyArray<readonly [RegExp, (id: number, ...found: string[]) => string]> = [
  [
    new RegExp(String.raw`^${rgbPattern} k 0 0 (\S+) \4 rectfill\n`),
    (_, r = '', g = '', b = '', side = '') =>
      `<rect fill="${rgb([r, g, b])}" width="${side}" height="${side}"/>`,
  ],
  [
    new RegExp(`^${pathPattern}${rgbPattern} k f\n`),
    (_, path, ...channels) => `<path fill="${rgb(channels)}" d="${pathAsSvg(path)}"/>`,
  ],
  [
    new RegExp(
      String.raw`^${pathPattern}gsave clip newpath\n<</ShadingType (2|3)/Coords\[(.*)\]/ColorSpace/DeviceRGB/Extend\[true true\]\n` +
        String.raw`/Function<</FunctionType 2/N 1/Domain\[0 1\]/C0\[${rgbPattern}\]/C1\[${rgbPattern}\]>>\n>> shfill grestore newpath\n`,
    ),
    (id, path, type, coords = '', ...channels) => {
      const [a, b, c, d, , r] = coords.split(' ');
      const stops = [0, 1].map((end) => {
        const color = rgb(channels.slice(3 * end, 3 * end + 3));
        return `<stop offset="${end}" stop-color="${color}"/>`;
      });
      const units = `id="s${id}" gradientUnits="userSpaceOnUse"`;
      const gradient =
        type === '2'
          ? `<linearGradient ${units} x1="${a}" y1="${b}" x2="${c}" y2="${d}">${stops.join('')}</linearGradient>`
          : `<radialGradient ${units} cx="${a}" cy="${b}" r="${r}">${stops.join('')}</radialGradient>`;
      return `${gradient}<path fill="url(#s${id})" d="${pathAsSvg(path)}"/>`;
    },
  ],
  [
    /^gsave\n(.*) translate (.*) scale\n\/DeviceRGB setcolorspace\n<<\/ImageType 1\/Width (\d+)\/Height (\d+)\/BitsPerComponent 8\n\/Decode\[0 1 0 1 0 1\]\/ImageMatrix\[\3 0 0 \4 0 0\]\/Interpolate true\n\/DataSource currentfile\/ASCIIHexDecode filter\/FlateDecode filter>> image\n([\da-f\n]*)>\ngrestore\n/,
    (_, at, scale, width, height, data = '') => {
      const png = new PNG({ width: Number(width), height: Number(height) });
      const pixels = inflateSync(Buffer.from(data.replace(/\n/g, ''), 'hex'));
      if (pixels.length !== png.width * png.height * 3) throw new Error('It has another size');
      for (let pixel = 0; pixel < png.width * png.height; pixel += 1) {
        pixels.copy(png.data, pixel * 4, pixel * 3, pixel * 3 + 3);
        png.data[pixel * 4 + 3] = 255;
      }
      const url = `data:image/png;base64,${PNG.sync.write(png).toString('base64')}`;
      return `<image transform="translate(${at}) scale(${scale})" width="1" height="1" preserveAspectRatio="none" href="${url}"/>`;
    },
  ],
];

/**
 * Reads the PostScript of our EPS files part by part and gives the same picture as SVG: a reader for tests, as strict
 * as it is small. Whatever is no such part is an error. (The real thing, Ghostscript, agrees; it is no dependency.)
 */
function epsAsSvg(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1');
  const frame =
    /^%!PS-Adobe-3\.0 EPSF-3\.0\n%%BoundingBox: 0 0 (\d+) \1\n%%HiResBoundingBox: 0 0 (\S+) \2\n(?:%%.*\n)*%%EndComments\n%%Page: 1 1\ngsave\n\/m{moveto}bind def\/l{rlineto}bind def\/c{rcurveto}bind def\/z{closepath}bind def\/f{fill}bind def\/k{setrgbcolor}bind def\n0 \2 translate (\S+) -\3 scale\n([^]*)grestore\nshowpage\n%%EOF\n$/;
  const [, size, , scale, program] = frame.exec(text) ?? [];
  if (program === undefined) throw new Error('Cannot read EPS: it has another frame');
  if (text.split('\n').some((line) => line.length > 255)) throw new Error('A line is too long');
  let body = '';
  for (let id = 0, rest = program; rest !== ''; id += 1) {
    const part = epsParts.find(([pattern]) => pattern.test(rest));
    const [whole, ...found] = part?.[0].exec(rest) ?? [];
    if (whole === undefined) throw new Error(`Cannot read EPS: ${rest.slice(0, 100)}`);
    body += part![1](id, ...found);
    rest = rest.slice(whole.length);
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"><g transform="scale(${scale})">${body}</g></svg>`;
}
