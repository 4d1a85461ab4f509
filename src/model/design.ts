/** The design of a code's image. The defaults of absent fields are in `product/images/design/style.ts`. */
export const errorCorrections = ['L', 'M', 'Q', 'H'] as const;
export type ErrorCorrection = (typeof errorCorrections)[number];

export const dotStyles = ['square', 'rounded', 'dots'] as const;
export type DotStyle = (typeof dotStyles)[number];

export const eyeStyles = ['square', 'rounded', 'circle'] as const;
export type EyeStyle = (typeof eyeStyles)[number];

export const gradientTypes = ['linear', 'radial'] as const;
export type GradientType = (typeof gradientTypes)[number];

export interface Gradient {
  /** Colors are `#rgb` or `#rrggbb`. */
  readonly from: string;
  readonly to: string;
  readonly type?: GradientType | undefined;
}

export interface Design {
  readonly foreground?: string | undefined;
  readonly background?: string | undefined;
  readonly errorCorrection?: ErrorCorrection | undefined;
  /** Quiet zone in modules. */
  readonly margin?: number | undefined;
  readonly dotStyle?: DotStyle | undefined;
  readonly eyeStyle?: EyeStyle | undefined;
  readonly eyeColor?: string | undefined;
  readonly gradient?: Gradient | undefined;
  /** `logo:<name>` of a stored logo; a data URL in requests only. */
  readonly logo?: string | undefined;
  /** Edge of the logo as a share of the symbol's. */
  readonly logoScale?: number | undefined;
}
