/**
 * What a person, a phone and a receiver get from the program, from its first start in an empty folder to a restored
 * backup: one walk, in this order. Each part of the program that the build treats by itself is met: every thread, native
 * file, text and package that is loaded late.
 */
import type { Check } from './checks.ts';
import { alone, commands } from './command-checks.ts';
import { codes, running } from './service-checks.ts';
import type { Walk } from './walk.ts';

/** In this order: each goes on with what those before have made. */
export const acceptance: ReadonlyArray<Check<Walk>> = [...alone, ...running, ...codes, ...commands];
