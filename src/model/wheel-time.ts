/**
 * Times of the retry wheel's clock (webhooks/deliveries/retry-wheel.ts). They look like wall-clock times and must not
 * be mixed with them: the wall clock may step by a year.
 */
declare const brand: unique symbol;

/** Milliseconds of the wheel's clock. */
export type WheelMs = number & { readonly [brand]: 'WheelMs' };

/** @throws Error for what is not a time */
export function toWheelMs(ms: number): WheelMs {
  assertTime(ms);
  return ms;
}

function assertTime(ms: number): asserts ms is WheelMs {
  if (!Number.isFinite(ms)) throw new Error(`Cannot make a wheel time: ${ms}, expected a number`);
}
