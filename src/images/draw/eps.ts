/**
 * A picture as Encapsulated PostScript (EPSF-3.0, language level 3), vector except for the logo: for print
 * shops whose tools are older than PDF. `size` is in points.
 *
 * The page's y axis is flipped at the start, so that everything after is in modules as elsewhere:
 *
 *   0 size translate   s -s scale   ...   shapes: m l c h f   logo: image
 *
 * PostScript has no transparency: a transparent background is left unpainted, and a logo is flattened onto
 * the background (white if it is transparent) before it is written.
 */
import { deflateSync } from 'node:zlib';
import type { Rgb } from '../../model/design/colour.ts';
import { type Paint, white } from '../design/style.ts';
import type { Path } from './path.ts';
import type { Picture, PlacedLogo } from './picture.ts';
import { loadSharp } from './raster.ts';

/** The structuring conventions ask for lines below 255 characters. */
const lineLengthMax = 240;

/** Short names for operators that are repeated thousands of times. */
const prolog =
  '/m{moveto}bind def/l{lineto}bind def/c{curveto}bind def/h{closepath}bind def' +
  '/f{fill}bind def/k{setrgbcolor}bind def';

export async function writeEps(picture: Picture, size: number): Promise<Uint8Array> {
  const { side, background, shapes, logo } = picture;
  const scale = figure(size / side);
  const lines = [
    '%!PS-Adobe-3.0 EPSF-3.0',
    // Whole points, by the structuring conventions; the exact ones follow.
    `%%BoundingBox: 0 0 ${Math.ceil(size)} ${Math.ceil(size)}`,
    `%%HiResBoundingBox: 0 0 ${size} ${size}`,
    '%%Creator: Quietzone',
    '%%Title: QR code',
    '%%LanguageLevel: 3',
    '%%Pages: 1',
    '%%DocumentData: Clean7Bit',
    '%%EndComments',
    '%%Page: 1 1',
    'gsave',
    prolog,
    `0 ${size} translate ${scale} -${scale} scale`,
    ...(background === undefined ? [] : [`${colourOf(background)} k 0 0 ${side} ${side} rectfill`]),
    ...shapes
      .filter(({ path }) => !path.isEmpty)
      .flatMap(({ path, paint }) => [...operatorsOf(path), ...fillOf(paint, picture)]),
    ...(logo === undefined ? [] : await imageOf(logo, background ?? white)),
    'grestore',
    'showpage',
    '%%EOF',
  ];
  return Uint8Array.from(Buffer.from(`${lines.join('\n')}\n`, 'latin1'));
}

function operatorsOf(path: Path): string[] {
  const lines: string[] = [];
  let line = '';
  for (const segment of path.segments) {
    const operator = operatorOf(segment);
    if (line.length + operator.length >= lineLengthMax) {
      lines.push(line);
      line = '';
    }
    line += line === '' ? operator : ` ${operator}`;
  }
  return [...lines, line];
}

function operatorOf(segment: Path['segments'][number]): string {
  if (segment.kind === 'close') return 'h';
  const end = `${figure(segment.x)} ${figure(segment.y)}`;
  if (segment.kind !== 'curve') return `${end} ${segment.kind === 'move' ? 'm' : 'l'}`;
  const { x1, y1, x2, y2 } = segment;
  return `${figure(x1)} ${figure(y1)} ${figure(x2)} ${figure(y2)} ${end} c`;
}

/** Paints the current path; a gradient covers everything and is clipped to the path. */
function fillOf(paint: Paint, { side, marginModules: margin }: Picture): string[] {
  if (paint.kind === 'flat') return [`${colourOf(paint.colour)} k f`];
  const [middle, end] = [figure(side / 2), side - margin];
  const geometry =
    paint.kind === 'linear'
      ? `/ShadingType 2/Coords[${margin} ${margin} ${end} ${end}]`
      : `/ShadingType 3/Coords[${middle} ${middle} 0 ${middle} ${middle} ` +
        `${figure((side / 2 - margin) * Math.SQRT2)}]`;
  return [
    'gsave clip newpath',
    `<<${geometry}/ColorSpace/DeviceRGB/Extend[true true]`,
    `/Function<</FunctionType 2/N 1/Domain[0 1]/C0[${colourOf(paint.from)}]/C1[${colourOf(paint.to)}]>>`,
    // The restored state has the path again.
    '>> shfill grestore newpath',
  ];
}

async function imageOf(logo: PlacedLogo, { red, green, blue }: Rgb): Promise<string[]> {
  const { x, y, width, height } = logo.at;
  const sharp = await loadSharp();
  const { data, info } = await sharp(logo.png)
    .flatten({ background: { r: red, g: green, b: blue } })
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return [
    'gsave',
    `${figure(x)} ${figure(y)} translate ${figure(width)} ${figure(height)} scale`,
    '/DeviceRGB setcolorspace',
    `<</ImageType 1/Width ${info.width}/Height ${info.height}/BitsPerComponent 8`,
    `/Decode[0 1 0 1 0 1]/ImageMatrix[${info.width} 0 0 ${info.height} 0 0]/Interpolate true`,
    '/DataSource currentfile/ASCII85Decode filter/FlateDecode filter>> image',
    ...ascii85(deflateSync(data)),
    'grestore',
  ];
}

/** Adobe's ASCII85 with its end mark, in lines: 4 bytes in 5 characters, four zeros in one. */
function ascii85(bytes: Uint8Array): string[] {
  const padded = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  padded.set(bytes);
  let text = '';
  for (let at = 0; at < padded.length; at += 4) {
    let value = padded.readUInt32BE(at);
    const isWhole = at + 4 <= bytes.length;
    if (value === 0 && isWhole) {
      text += 'z';
      continue;
    }
    let group = '';
    for (let digit = 0; digit < 5; digit += 1) {
      group = String.fromCharCode(33 + (value % 85)) + group;
      value = Math.floor(value / 85);
    }
    text += isWhole ? group : group.slice(0, bytes.length - at + 1);
  }
  // A line that starts with % would read as a comment of the structure.
  const lines = text.match(/.{1,120}/gs) ?? [];
  return [...lines.map((line) => (line.startsWith('%') ? ` ${line}` : line)), '~>'];
}

function colourOf({ red, green, blue }: Rgb): string {
  return [red, green, blue].map((channel) => figure(channel / 255)).join(' ');
}

function figure(value: number): string {
  return String(Number(value.toFixed(5)));
}
