/**
 * Reads images back by other people's code: PNG by pngjs, symbols by jsQR. SVG paths are rasterised
 * here by the even-odd rule over module centres, which shares nothing with the writer.
 */
import jsqr from 'jsqr';
import { PNG } from 'pngjs';

const decode = jsqr.default;

export interface ReadPng {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8ClampedArray;
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
