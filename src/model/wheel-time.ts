/**
 * Milliseconds of the retry wheel's clock (webhooks/deliveries/retry-wheel.ts). They must not be mixed with wall-clock times,
 * which may step by a year.
 */
declare const brand: unique symbol;

export type WheelMs = number & { readonly [brand]: 'WheelMs' };

/** @throws Error for NaN and Infinity */
export function toWheelMs(ms: number): WheelMs {
  assertTime(ms);
  return ms;
}

function assertTime(ms: number): asserts ms is WheelMs {
  if (!Number.isFinite(ms)) throw new Error(`Cannot make a wheel time: ${ms}, expected a number`);
}
