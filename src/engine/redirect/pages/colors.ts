/**
 * The colors of a page in both schemes. A brand's color is mixed with black on a light page, and with white on a dark
 * one, until its text has a contrast of 4.5:1 (WCAG 2.2, AA).
 */
import { contrast, formatColor, parseColor, type Rgb } from '../../../model/design/color.ts';

export const schemes = {
  light: { background: '#f6f6f3', title: '#1b1c1e', text: '#4a4d52', drawing: '#5f646b' },
  dark: { background: '#131416', title: '#f2f2ef', text: '#b9bdc3', drawing: '#a6abb2' },
} as const;

const textContrast = 4.5;
const steps = 50;
const black: Rgb = { red: 0, green: 0, blue: 0 };
const white: Rgb = { red: 255, green: 255, blue: 255 };

/** @param color `#rrggbb` */
export function accents(color: string): { readonly light: string; readonly dark: string } {
  const own = parseColor(color);
  return {
    light: legible(own, parseColor(schemes.light.background), black),
    dark: legible(own, parseColor(schemes.dark.background), white),
  };
}

function legible(color: Rgb, background: Rgb, towards: Rgb): string {
  for (let step = 0; step < steps; step++) {
    const mixed = mix(color, towards, step / steps);
    if (contrast(mixed, background) >= textContrast) return formatColor(mixed);
  }
  return formatColor(towards);
}

function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const between = (from: number, to: number): number => Math.round(from + (to - from) * share);
  return {
    red: between(one.red, other.red),
    green: between(one.green, other.green),
    blue: between(one.blue, other.blue),
  };
}
