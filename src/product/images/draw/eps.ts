/**
 * A picture as Encapsulated PostScript (EPSF-3.0, language level 3), vector except for the logo: for print
 * shops whose tools are older than PDF. `size` is in points.
 *
 * The page's y axis is flipped at the start, so that everything after is in modules as elsewhere:
 *
 *   0 size translate   s -s scale   ...   shapes: m l c z f   logo: image
 *
 * PostScript has no transparency: a transparent background is left unpainted, and a logo is flattened onto
 * the background (white if it is transparent) before it is written.
 */
import { deflateSync } from 'node:zlib';
import type { Rgb } from '../../../model/design/color.ts';
import { type Paint, white } from '../design/style.ts';
import type { Path } from './path.ts';
import type { Picture, PlacedLogo } from './picture.ts';
import { loadSharp } from './raster.ts';

/** Short names for operators that are repeated thousands of times. */
const prolog =
  '/m{moveto}bind def/l{rlineto}bind def/c{rcurveto}bind def/z{closepath}bind def' +
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
    ...(background === undefined ? [] : [`${colorOf(background)} k 0 0 ${side} ${side} rectfill`]),
    ...shapes.flatMap(({ path, paint }) => [...operatorsOf(path), ...fillOf(paint, picture)]),
    ...(logo === undefined ? [] : await imageOf(logo, background ?? white)),
    'grestore',
    'showpage',
    '%%EOF',
  ];
  return Uint8Array.from(Buffer.from(`${lines.join('\n')}\n`, 'latin1'));
}

/** SVG's commands with their numbers before them, as PostScript has it. */
function operatorsOf({ data }: Path): string[] {
  return [...data.matchAll(/([Mhvlcz])([^Mhvlcz]*)/g)].map(([, command = '', numbers = '']) => {
    if (command === 'h') return `${numbers} 0 l`;
    if (command === 'v') return `0 ${numbers} l`;
    return `${numbers} ${command.toLowerCase()}`;
  });
}

/** Paints the current path; a gradient covers everything and is clipped to the path. */
function fillOf(paint: Paint, { side, marginModules: margin }: Picture): string[] {
  if (paint.kind === 'flat') return [`${colorOf(paint.color)} k f`];
  const [middle, end] = [figure(side / 2), side - margin];
  const geometry =
    paint.kind === 'linear'
      ? `/ShadingType 2/Coords[${margin} ${margin} ${end} ${end}]`
      : `/ShadingType 3/Coords[${middle} ${middle} 0 ${middle} ${middle} ` +
        `${figure((side / 2 - margin) * Math.SQRT2)}]`;
  return [
    'gsave clip newpath',
    `<<${geometry}/ColorSpace/DeviceRGB/Extend[true true]`,
    `/Function<</FunctionType 2/N 1/Domain[0 1]/C0[${colorOf(paint.from)}]/C1[${colorOf(paint.to)}]>>`,
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
    '/DataSource currentfile/ASCIIHexDecode filter/FlateDecode filter>> image',
    // The structuring conventions ask for lines below 255 characters.
    ...(deflateSync(data)
      .toString('hex')
      .match(/.{1,240}/g) ?? []),
    '>',
    'grestore',
  ];
}

function colorOf({ red, green, blue }: Rgb): string {
  return [red, green, blue].map((channel) => figure(channel / 255)).join(' ');
}

function figure(value: number): string {
  return String(Number(value.toFixed(5)));
}
