/**
 * Reads images back by other people's code: PNG by pngjs, PDF by MuPDF, WebP and SVG by sharp, symbols by
 * jsQR and ZXing. No package reads EPS: its few operators are carried out by read-eps.ts.
 * Paths of a plain SVG are also rasterised here by the even-odd rule over module centres, which shares
 * nothing with the writer.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { inflateSync } from 'node:zlib';
import jsqr from 'jsqr';
import * as mupdf from 'mupdf';
import { PNG } from 'pngjs';
import sharp from 'sharp';
import { prepareZXingModule, readBarcodes, type ReadResult } from 'zxing-wasm/reader';

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

/**
 * Carries out the PostScript of our EPS files and gives the same picture as SVG: a reader for tests, as
 * strict as it is small. An operator it does not know, a stack that does not come out even, a broken image
 * or a missing structure comment is an error. (The real thing, Ghostscript, agrees; it is no dependency.)
 */

/** @throws Error for what is not an EPS file of ours */
function epsAsSvg(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1');
  if (!text.startsWith('%!PS-Adobe-3.0 EPSF-3.0\n')) throw new Error('Not EPSF-3.0');
  if (!text.endsWith('\nshowpage\n%%EOF\n')) throw new Error('It has no end');
  if (text.split('\n').some((line) => line.length > 255)) throw new Error('A line is too long');
  const [, width, height] = /^%%BoundingBox: 0 0 (\d+) (\d+)$/m.exec(text) ?? [];
  if (width === undefined || width !== height) throw new Error('It has no square bounding box');
  const end = text.indexOf('%%EndComments');
  const program = text.slice(text.indexOf('\n', end)).replace(/^%.*$/gm, '');
  const body = new Interpreter().run(program);
  const size = `width="${width}" height="${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><g transform="translate(0 ${height}) scale(1 -1)">${body}</g></svg>`;
}

const shading =
  /^<<\/ShadingType (2|3)\/Coords\[([^\]]*)\]\/ColorSpace\/DeviceRGB\/Extend\[true true\]\s*\/Function<<\/FunctionType 2\/N 1\/Domain\[0 1\]\/C0\[([^\]]*)\]\/C1\[([^\]]*)\]>>\s*>> shfill/;
const picture =
  /^<<\/ImageType 1\/Width (\d+)\/Height (\d+)\/BitsPerComponent 8\s*\/Decode\[0 1 0 1 0 1\]\/ImageMatrix\[\1 0 0 \2 0 0\]\/Interpolate true\s*\/DataSource currentfile\/ASCIIHexDecode filter\/FlateDecode filter>> image\n([^>]*)>/;

class Interpreter {
  readonly #stack: number[] = [];
  readonly #saved: Array<{ open: number; color: string; clip: string; path: string }> = [];
  #out = '';
  #path = '';
  #clip = '';
  #color = 'black';
  #open = 0;
  #ids = 0;

  run(program: string): string {
    let rest = program.replace(/\/[mlczfk]\{(\w+)\}bind def/g, '');
    for (;;) {
      rest = rest.trimStart();
      if (rest === '') break;
      const found = shading.exec(rest) ?? picture.exec(rest) ?? /^\S+/.exec(rest);
      if (found === null) throw new Error('Nothing to read');
      rest = rest.slice(found[0].length);
      if (found[0].endsWith('shfill')) this.#shade(found);
      else if (found[0].startsWith('<</ImageType')) this.#image(found);
      else this.#word(found[0]);
    }
    if (this.#stack.length > 0 || this.#saved.length > 0) throw new Error('Something is left over');
    return this.#out;
  }

  #word(word: string): void {
    if (/^-?\d*\.?\d+$/.test(word)) this.#stack.push(Number(word));
    else this.#operator(word);
  }

  #operator(name: string): void {
    const operators: Record<string, () => void> = {
      m: () => (this.#path += `M${this.#take(2).join(' ')}`),
      l: () => (this.#path += `l${this.#take(2).join(' ')}`),
      c: () => (this.#path += `c${this.#take(6).join(' ')}`),
      z: () => (this.#path += 'z'),
      k: () => (this.#color = rgb(this.#take(3))),
      f: () => {
        this.#out += `<path fill="${this.#color}" d="${this.#path}"/>`;
        this.#path = '';
      },
      rectfill: () => {
        const [x, y, width, height] = this.#take(4);
        const box = `x="${x}" y="${y}" width="${width}" height="${height}"`;
        this.#out += `<rect fill="${this.#color}" ${box}/>`;
      },
      translate: () => this.#group(`translate(${this.#take(2).join(' ')})`),
      scale: () => this.#group(`scale(${this.#take(2).join(' ')})`),
      clip: () => (this.#clip = this.#path),
      newpath: () => (this.#path = ''),
      gsave: () => {
        this.#saved.push({
          open: this.#open,
          color: this.#color,
          clip: this.#clip,
          path: this.#path,
        });
        this.#open = 0;
      },
      grestore: () => this.#restore(),
      '/DeviceRGB': () => undefined,
      setcolorspace: () => undefined,
      showpage: () => undefined,
    };
    const operator = operators[name];
    if (operator === undefined) throw new Error(`Unknown operator ${name}`);
    operator();
  }

  #take(count: number): number[] {
    if (this.#stack.length !== count) throw new Error(`Expected ${count} numbers`);
    return this.#stack.splice(0);
  }

  #group(transform: string): void {
    this.#out += `<g transform="${transform}">`;
    this.#open += 1;
  }

  #restore(): void {
    const saved = this.#saved.pop();
    if (saved === undefined) throw new Error('Restored more than saved');
    this.#out += '</g>'.repeat(this.#open);
    this.#open = saved.open;
    this.#color = saved.color;
    this.#clip = saved.clip;
    this.#path = saved.path;
  }

  #shade([, type, coords = '', from = '', to = '']: RegExpExecArray): void {
    const id = `s${(this.#ids += 1)}`;
    const [a, b, c, d, , r] = coords.trim().split(/\s+/);
    const stops =
      `<stop offset="0" stop-color="${rgb(numbers(from))}"/>` +
      `<stop offset="1" stop-color="${rgb(numbers(to))}"/>`;
    const units = `id="${id}" gradientUnits="userSpaceOnUse"`;
    this.#out +=
      type === '2'
        ? `<linearGradient ${units} x1="${a}" y1="${b}" x2="${c}" y2="${d}">${stops}</linearGradient>`
        : `<radialGradient ${units} cx="${a}" cy="${b}" r="${r}">${stops}</radialGradient>`;
    this.#out += `<path fill="url(#${id})" d="${this.#clip}"/>`;
  }

  #image([, width, height, data = '']: RegExpExecArray): void {
    const png = new PNG({ width: Number(width), height: Number(height) });
    const pixels = inflateSync(Buffer.from(data.replace(/\s/g, ''), 'hex'));
    if (pixels.length !== png.width * png.height * 3) throw new Error('The image has another size');
    for (let at = 0; at < png.width * png.height; at += 1) {
      pixels.copy(png.data, at * 4, at * 3, at * 3 + 3);
      png.data[at * 4 + 3] = 255;
    }
    const url = `data:image/png;base64,${PNG.sync.write(png).toString('base64')}`;
    this.#out += `<image width="1" height="1" preserveAspectRatio="none" href="${url}"/>`;
  }
}

const numbers = (text: string): number[] => text.trim().split(/\s+/).map(Number);

const rgb = (channels: readonly number[]): string =>
  `rgb(${channels.map((channel) => Math.round(channel * 255)).join(',')})`;
