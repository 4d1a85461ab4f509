/** The service gives its allocator settings that it would not take later. */
import { expect, it } from 'vitest';
import { leanEnvironment } from '../../src/engine/machine/allocator.ts';
import { memoryBytesMin } from '../../src/engine/machine/machine-plan.ts';

const small = { cores: 2, memoryBytes: memoryBytesMin };
const ample = { cores: 2, memoryBytes: 2 ** 30 };

it('adds the settings that are missing, once, and leaves those of an operator', () => {
  const lean = leanEnvironment({ QZ_DATA_DIR: '/data' }, ample);
  expect(lean).toEqual({ QZ_DATA_DIR: '/data', MALLOC_MMAP_THRESHOLD_: '131072' });
  expect(leanEnvironment(lean ?? {}, ample)).toBeUndefined();
  const own = { MALLOC_MMAP_THRESHOLD_: '65536' };
  expect(leanEnvironment(own, ample)).toBeUndefined();
  // In little memory threads share arenas.
  const scarce = leanEnvironment(own, small);
  expect(scarce).toEqual({ ...own, MALLOC_ARENA_MAX: '2' });
  expect(leanEnvironment(scarce ?? {}, small)).toBeUndefined();
});
