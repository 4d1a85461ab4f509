/** Colors, with luminance and contrast by WCAG 2.2, which is close to how a camera computes gray. */

export interface Rgb {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
}

/** @param text `#rgb` or `#rrggbb` */
export function parseColor(text: string): Rgb {
  const digits = text.slice(1);
  const full = digits.length === 3 ? digits.replace(/./g, '$&$&') : digits;
  const value = Number.parseInt(full, 16);
  if (full.length !== 6 || Number.isNaN(value)) {
    throw new Error(`Cannot read color ${text}: expected #rgb or #rrggbb`);
  }
  return { red: value >> 16, green: (value >> 8) & 255, blue: value & 255 };
}

/** `#rgb` if possible, else `#rrggbb`. */
export function formatColor({ red, green, blue }: Rgb): string {
  const full = ((1 << 24) | (red << 16) | (green << 8) | blue).toString(16).slice(1);
  return `#${/^(.)\1(.)\2(.)\3$/.test(full) ? full.replace(/(.)./g, '$1') : full}`;
}

/** 0 (black) to 1 (white). https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
export function luminance({ red, green, blue }: Rgb): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** 1 to 21. https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
export function contrast(one: Rgb, other: Rgb): number {
  const [first, second] = [luminance(one), luminance(other)];
  return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
}

function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
