/** Weights as whole percents that sum to 100, by the largest remainders; all 0 if no weight is above 0. */
export function wholePercents(weights: readonly number[]): readonly number[] {
  const sum = weights.reduce((before, weight) => before + weight, 0);
  if (sum === 0) return weights.map(() => 0);
  const exact = weights.map((weight) => (weight * 100) / sum);
  const floors = exact.map(Math.floor);
  const missing = 100 - floors.reduce((before, percent) => before + percent, 0);
  const byRemainder = exact
    .map((percent, at) => ({ at, remainder: percent % 1 }))
    .sort((a, b) => b.remainder - a.remainder || a.at - b.at);
  const raised = new Set(byRemainder.slice(0, missing).map(({ at }) => at));
  return floors.map((percent, at) => percent + (raised.has(at) ? 1 : 0));
}
