/** How much of a model test runs: little in `npm test`, `QZ_TIMES` as much in `npm run test:long`. */
import { dayMs } from '../../src/model/day.ts';

const times = Number(process.env['QZ_TIMES'] ?? 1);

/** Runs of a property: fast-check draws another seed each time, and prints one that fails. */
export const runs = (count: number): number => count * times;

/** Other seeds each day, the same ones all day long: a test has its seed in its name. */
export function seedsOfToday(count: number): number[] {
  const first = Math.floor(Date.now() / dayMs) * 10_000;
  return Array.from({ length: count * times }, (_, index) => first + index);
}

/** Every so many steps of a long way, others each day; all of them in `npm run test:long`. */
export const stepsOfToday = (every: number): { readonly first: number; readonly every: number } =>
  times > 1
    ? { first: 1, every: 1 }
    : { first: 1 + (Math.floor(Date.now() / dayMs) % every), every };
