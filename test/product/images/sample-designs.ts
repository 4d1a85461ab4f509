/** Sample designs: each shape, each paint, each background, with and without a logo. */
import { cleanLogo } from '../../../src/product/images/logo/logo.ts';
import type { LogoImage } from '../../../src/product/images/draw/picture.ts';
import type { Design } from '../../../src/model/design.ts';

/** The id of no stored logo: drawing gets the picture beside it. */
export const anyLogo = `logo:${'0'.repeat(32)}`;

/** Round, partly half transparent. */
export const roundLogo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">
<circle cx="50" cy="50" r="48" fill="#e4572e"/><circle cx="50" cy="50" r="30" fill="#fff" fill-opacity=".5"/>
<path d="M30 62 50 26l20 36z" fill="#fff"/></svg>`;

export const roundLogoUrl = `data:image/svg+xml;base64,${Buffer.from(roundLogo).toString('base64')}`;

let cleaned: Promise<LogoImage> | undefined;

/** `roundLogo` as it is stored; cleaned once per test file. */
export async function cleanedRoundLogo(): Promise<LogoImage> {
  cleaned ??= cleanLogo(Buffer.from(roundLogo), 'image/svg+xml');
  return await cleaned;
}

export const designs: Readonly<Record<string, Design>> = {
  plain: {},
  'two colors': { foreground: '#335c67', background: '#fff3b0' },
  'transparent background': { foreground: '#0b3954', background: 'transparent' },
  'strong, wide margin': { errorCorrection: 'H', margin: 8 },
  'no margin': { margin: 0 },
  rounded: { dotStyle: 'rounded', eyeStyle: 'rounded', foreground: '#1d3557' },
  dots: { dotStyle: 'dots', eyeStyle: 'circle', foreground: '#5a189a', eyeColor: '#d00000' },
  'colored finder patterns': { eyeColor: '#9e2a2b' },
  'round finder patterns': { eyeStyle: 'circle' },
  'linear gradient': {
    dotStyle: 'rounded',
    eyeStyle: 'circle',
    gradient: { from: '#0a3d91', to: '#a4133c' },
  },
  'radial gradient, black finder patterns': {
    gradient: { from: '#006d77', to: '#3a0ca3', type: 'radial' },
    eyeColor: '#000',
  },
  logo: { logo: anyLogo },
  'logo and everything': {
    logo: anyLogo,
    logoScale: 0.25,
    dotStyle: 'dots',
    eyeStyle: 'rounded',
    gradient: { from: '#111', to: '#3a0ca3' },
    background: '#fdf6e3',
  },
};
