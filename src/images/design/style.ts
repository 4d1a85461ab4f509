/**
 * A design with every default filled in: what is drawn. Two designs that look alike have one look, so
 * they share their images, and its key names the image together with what the symbol says.
 */
import { hash } from 'node:crypto';
import type {
  Design,
  DotStyle,
  ErrorCorrection,
  EyeStyle,
  GradientType,
} from '../../model/design.ts';
import { formatColour, parseColour, type Rgb } from './colour.ts';

export type Paint =
  | { readonly kind: 'flat'; readonly colour: Rgb }
  | { readonly kind: GradientType; readonly from: Rgb; readonly to: Rgb };

export interface Style {
  readonly modules: Paint;
  readonly eyes: Paint;
  /** Undefined = transparent. */
  readonly background: Rgb | undefined;
  readonly errorCorrection: ErrorCorrection;
  readonly marginModules: number;
  readonly dotStyle: DotStyle;
  readonly eyeStyle: EyeStyle;
  /** 32 hexadecimal digits. */
  readonly logo: string | undefined;
  readonly logoScale: number;
}

export const white: Rgb = { red: 255, green: 255, blue: 255 };
export const black: Rgb = { red: 0, green: 0, blue: 0 };
/** 4 modules of quiet zone: ISO/IEC 18004, 6.3.8. */
const marginStandard = 4;
/** 5 % of the area: seen at arm's length, and far from what error correction H restores. */
const logoScaleStandard = 0.22;
/** Changes when the drawing of equal requests changes: it is part of every image's version. */
export const drawingVersion = 1;
/** 60 bits: versions of one code's image never meet. */
const versionLength = 10;

export function styleOf(design: Design | undefined): Style {
  return design === undefined ? plainStyle : completed(design);
}

function completed(design: Design): Style {
  const { gradient, eyeColor, background, logo } = design;
  const modules: Paint =
    gradient === undefined
      ? { kind: 'flat', colour: colourOf(design.foreground) ?? black }
      : {
          kind: gradient.type ?? 'linear',
          from: parseColour(gradient.from),
          to: parseColour(gradient.to),
        };
  const eye = colourOf(eyeColor);
  return {
    modules,
    eyes: eye === undefined ? modules : { kind: 'flat', colour: eye },
    background: background === 'transparent' ? undefined : (colourOf(background) ?? white),
    // A logo takes modules away: H restores 30 %, M half of that.
    errorCorrection: design.errorCorrection ?? (logo === undefined ? 'M' : 'H'),
    marginModules: design.margin ?? marginStandard,
    dotStyle: design.dotStyle ?? 'square',
    eyeStyle: design.eyeStyle ?? 'square',
    logo: logo?.replace(/^logo:/, ''),
    logoScale: logo === undefined ? 0 : (design.logoScale ?? logoScaleStandard),
  };
}

/** How everything looks that has no design: one object, so that it is known by sight. */
export const plainStyle: Style = completed({});

/** Equal for equal looks only. */
export function styleKey(look: Style): string {
  return look === plainStyle ? plainKey : keyOf(look);
}

function keyOf(look: Style): string {
  return [
    paintKey(look.modules),
    paintKey(look.eyes),
    look.background === undefined ? 'none' : formatColour(look.background),
    look.errorCorrection,
    look.marginModules,
    look.dotStyle,
    look.eyeStyle,
    look.logo ?? '',
    look.logoScale,
  ].join(' ');
}

export function samePaint(one: Paint, other: Paint): boolean {
  return paintKey(one) === paintKey(other);
}

const plainKey = keyOf(plainStyle);

/**
 * Names what an image shows: under an equal version it may be cached for ever.
 * @param content what the symbol says
 */
export function imageVersion(content: string, look: Style): string {
  const text = `${drawingVersion}\n${styleKey(look)}\n${content}`;
  return hash('sha256', text, 'base64url').slice(0, versionLength);
}

/** Squares of one colour on one ground: drawn from the matrix, without a renderer. */
export function isBitmap(look: Style): boolean {
  return (
    look.dotStyle === 'square' &&
    look.eyeStyle === 'square' &&
    look.logo === undefined &&
    look.modules.kind === 'flat' &&
    samePaint(look.modules, look.eyes)
  );
}

function colourOf(text: string | undefined): Rgb | undefined {
  return text === undefined ? undefined : parseColour(text);
}

function paintKey(paint: Paint): string {
  return paint.kind === 'flat'
    ? formatColour(paint.colour)
    : `${paint.kind}:${formatColour(paint.from)}:${formatColour(paint.to)}`;
}
