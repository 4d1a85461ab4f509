/**
 * Colours that a camera can tell apart: everything dark is darker than the ground, by 3:1 at least.
 *
 * Readers turn the picture to grey and look for dark on light. Many cannot read light on dark at all, and
 * those that can need a second try. Between the ends of a gradient no colour is lighter than the lighter
 * end (luminance is convex in the channels), so judging the ends judges it all.
 * A transparent ground is judged as white paper: what else it may be put on is not known here.
 */
import type { Design } from '../../model/design.ts';
import type { Fault } from '../../model/failure.ts';
import { contrast, luminance, type Rgb } from './colour.ts';
import { type Style, type Paint, samePaint, white } from './style.ts';

/** Below it print, glare and a cheap camera eat what is left. */
const contrastMin = 3;

/** Every colour that cannot be read, each with advice. */
export function legibilityFaults(look: Style, design: Design): Fault[] {
  const ground = look.background ?? white;
  const [path, eyePath] = [pathOf(look.modules), 'design.eyeColor'];
  const groundName = look.background === undefined ? 'white paper' : 'the background';
  const drawn: Array<[path: string, colour: Rgb]> = coloursOf(look.modules, path);
  if (design.eyeColor !== undefined && !samePaint(look.eyes, look.modules)) {
    drawn.push(...coloursOf(look.eyes, eyePath));
  }
  return drawn.flatMap(([at, colour]) => faultOf(at, colour, ground, groundName));
}

function faultOf(path: string, colour: Rgb, ground: Rgb, groundName: string): Fault[] {
  const ratio = contrast(colour, ground);
  if (luminance(colour) > luminance(ground)) {
    const message = `It is lighter than ${groundName}, and readers look for dark on light: swap the two, or darken it`;
    return [{ path, code: 'inverted', message }];
  }
  if (ratio >= contrastMin) return [];
  // Rounded down: 2.96 must not read as 3.0.
  const shown = (Math.floor(ratio * 10) / 10).toFixed(1);
  const message = `Its contrast to ${groundName} is ${shown}:1, expected at least ${contrastMin}:1: darken it, or lighten the ground`;
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
