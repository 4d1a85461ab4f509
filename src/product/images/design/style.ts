/**
 * A style is a design with every default filled in: all that drawing needs to know. Designs with the same
 * result have the same style and share their images. The style's key and the content name an image.
 */
import { hash } from 'node:crypto';
import type {
  Design,
  DotStyle,
  ErrorCorrection,
  EyeStyle,
  GradientType,
} from '../../../model/design.ts';
import { formatColor, parseColor, type Rgb } from '../../../model/design/color.ts';

export type Paint =
  | { readonly kind: 'flat'; readonly color: Rgb }
  | { readonly kind: GradientType; readonly from: Rgb; readonly to: Rgb };

export interface Style {
  readonly modules: Paint;
  readonly finderPatterns: Paint;
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
/** Part of every image's version. Raise it when equal requests begin to draw other bytes. */
const drawingVersion = 2;
/** 60 bits: two versions of one code's image never collide. */
const versionLength = 10;

export function styleOf(design: Design | undefined): Style {
  return design === undefined ? plainStyle : completed(design);
}

function completed(design: Design): Style {
  const { gradient, eyeColor, background, logo } = design;
  const modules: Paint =
    gradient === undefined
      ? { kind: 'flat', color: colorOf(design.foreground) ?? black }
      : {
          kind: gradient.type ?? 'linear',
          from: parseColor(gradient.from),
          to: parseColor(gradient.to),
        };
  const finderColor = colorOf(eyeColor);
  return {
    modules,
    finderPatterns: finderColor === undefined ? modules : { kind: 'flat', color: finderColor },
    background: background === 'transparent' ? undefined : (colorOf(background) ?? white),
    // A logo takes modules away: H restores 30 %, M half of that.
    errorCorrection: design.errorCorrection ?? (logo === undefined ? 'M' : 'H'),
    marginModules: design.margin ?? marginStandard,
    dotStyle: design.dotStyle ?? 'square',
    eyeStyle: design.eyeStyle ?? 'square',
    logo: logo?.replace(/^logo:/, ''),
    logoScale: logo === undefined ? 0 : (design.logoScale ?? logoScaleStandard),
  };
}

/** The style of codes without a design: one object, so that it is recognized by identity. */
export const plainStyle: Style = completed({});

/** The same text for equal styles only. */
export function styleKey(style: Style): string {
  return style === plainStyle ? plainKey : keyOf(style);
}

function keyOf(style: Style): string {
  return [
    paintKey(style.modules),
    paintKey(style.finderPatterns),
    style.background === undefined ? 'none' : formatColor(style.background),
    style.errorCorrection,
    style.marginModules,
    style.dotStyle,
    style.eyeStyle,
    style.logo ?? '',
    style.logoScale,
  ].join(' ');
}

export function samePaint(one: Paint, other: Paint): boolean {
  return paintKey(one) === paintKey(other);
}

const plainKey = keyOf(plainStyle);

/** Names the picture of `content` in `style`: under the same version it may be cached for ever. */
export function imageVersion(content: string, style: Style): string {
  const text = `${drawingVersion}\n${styleKey(style)}\n${content}`;
  return hash('sha256', text, 'base64url').slice(0, versionLength);
}

/** Squares of one color on a flat background: drawn from the matrix, without a renderer. */
export function isBitmap(style: Style): boolean {
  return (
    style.dotStyle === 'square' &&
    style.eyeStyle === 'square' &&
    style.logo === undefined &&
    style.modules.kind === 'flat' &&
    samePaint(style.modules, style.finderPatterns)
  );
}

function colorOf(text: string | undefined): Rgb | undefined {
  return text === undefined ? undefined : parseColor(text);
}

function paintKey(paint: Paint): string {
  return paint.kind === 'flat'
    ? formatColor(paint.color)
    : `${paint.kind}:${formatColor(paint.from)}:${formatColor(paint.to)}`;
}
