/** Garbage collection when a test asks for it, so that what it then measures is what is held. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

export function collectGarbage(): void {
  if (typeof collect !== 'function') throw new Error('Cannot collect garbage: gc is not exposed');
  collect();
}
