/**
 * Numbers as five colors. The legend names the lowest number of each step; 0 has no color. The colors have one hue and
 * differ in lightness alone, so that people can distinguish them on paper, or if they see few hues.
 */
const stepsMax = 5;

/** `even`: each step as wide as the others. `rising`: each a multiple of the one before, where few keys have nearly all. */
export type Spread = 'even' | 'rising';

/** The lowest number of each step, rising; fewer steps where there are fewer numbers. */
export function stepsOf(most: number, spread: Spread): number[] {
  if (most <= 0) return [];
  const lowest = Array.from({ length: stepsMax }, (_, step) =>
    spread === 'even'
      ? Math.floor((most * step) / stepsMax) + 1
      : roundNumber(most ** (step / stepsMax)),
  );
  return [...new Set(lowest)].filter((start) => start <= most);
}

/** To one digit: 1, 2, 3 … 10, 20: a legend is read, not calculated with. */
function roundNumber(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return Math.max(1, Math.round(value / unit) * unit);
}

/** Of a number: 0 = none, up to the number of steps. */
export const stepOf = (value: number, steps: readonly number[]): number =>
  steps.filter((start) => start <= value).length;

/** The class of a step's color. The highest step is the strongest, however many there are. */
export const stepClass = (value: number, steps: readonly number[]): string => {
  const step = stepOf(value, steps);
  return `step-${step === 0 ? 0 : stepsMax - steps.length + step}`;
};
