/**
 * Contrast between the code and its background: at least 3:1, and dark on light.
 *
 * Readers convert the image to grey and look for dark on light. Many cannot read light on dark at all, and
 * those that can need a second try. Between the ends of a gradient no colour is lighter than the lighter
 * end (luminance is convex in the channels), so checking both ends is enough.
 * A transparent background counts as white paper: what else it may be printed on is unknown here.
 */
import type { Design } from '../../model/design.ts';
import type { Fault } from '../../model/failure.ts';
import { contrast, luminance, type Rgb } from '../../model/design/colour.ts';
import { type Style, type Paint, samePaint, white } from './style.ts';

/** Below this ratio, print, glare and cheap cameras make a code unreadable. */
const contrastMin = 3;

/** Every colour that cannot be read, each with advice. */
export function legibilityFaults(style: Style, design: Design): Fault[] {
  const background = style.background ?? white;
  const backgroundName = style.background === undefined ? 'white paper' : 'the background';
  const drawn = coloursOf(style.modules, pathOf(style.modules));
  if (design.eyeColor !== undefined && !samePaint(style.finderPatterns, style.modules)) {
    drawn.push(...coloursOf(style.finderPatterns, 'design.eyeColor'));
  }
  return drawn.flatMap(([path, colour]) => faultOf(path, colour, background, backgroundName));
}

function faultOf(path: string, colour: Rgb, background: Rgb, backgroundName: string): Fault[] {
  const ratio = contrast(colour, background);
  if (luminance(colour) > luminance(background)) {
    const message = `It is lighter than ${backgroundName}, and readers look for dark on light: swap the two, or darken it`;
    return [{ path, code: 'inverted', message }];
  }
  if (ratio >= contrastMin) return [];
  // Rounded down: 2.96 must not read as 3.0.
  const shown = (Math.floor(ratio * 10) / 10).toFixed(1);
  const message = `Its contrast to ${backgroundName} is ${shown}:1, expected at least ${contrastMin}:1: darken it, or lighten the background`;
  return [{ path, code: 'low_contrast', message }];
}

function pathOf(paint: Paint): string {
  return paint.kind === 'flat' ? 'design.foreground' : 'design.gradient';
}

function coloursOf(paint: Paint, path: string): Array<[path: string, colour: Rgb]> {
  if (paint.kind === 'flat') return [[path, paint.colour]];
  return [
    [`${path}.from`, paint.from],
    [`${path}.to`, paint.to],
  ];
}
