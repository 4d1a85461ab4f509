/**
 * Numbers as five colors. The legend names the lowest number of each step; 0 has no color. The colors share one hue and
 * differ only in lightness, so that they work on paper and for color-blind people.
 */
const stepsMax = 5;

/**
 * `even`: steps of equal width. `rising`: each step is a multiple of the previous one, for numbers of very unequal
 * size.
 */
export type Spread = 'even' | 'rising';

/** The lowest number of each step, ascending; fewer steps if there are fewer numbers. */
export function stepsOf(most: number, spread: Spread): number[] {
  if (most <= 0) return [];
  const lowest = Array.from({ length: stepsMax }, (_, step) =>
    spread === 'even'
      ? Math.floor((most * step) / stepsMax) + 1
      : roundNumber(most ** (step / stepsMax)),
  );
  return [...new Set(lowest)].filter((start) => start <= most);
}

/** Rounds to one digit: 1, 2, 3 … 10, 20. */
function roundNumber(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return Math.max(1, Math.round(value / unit) * unit);
}

/** The step of a number: 0 = none, up to the number of steps. */
export const stepOf = (value: number, steps: readonly number[]): number =>
  steps.filter((start) => start <= value).length;

/** The class of a step's color. The highest step always has the strongest color. */
export const stepClass = (value: number, steps: readonly number[]): string => {
  const step = stepOf(value, steps);
  return `step-${step === 0 ? 0 : stepsMax - steps.length + step}`;
};
