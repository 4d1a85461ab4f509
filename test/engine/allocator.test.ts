/** The service gives its allocator settings that it would not take later. */
import { expect, it } from 'vitest';
import { leanEnvironment } from '../../src/engine/machine/allocator.ts';
import { memoryBytesMin } from '../../src/engine/machine/machine-plan.ts';

const small = { cores: 2, memoryBytes: memoryBytesMin };
const ample = { cores: 2, memoryBytes: 2 ** 30 };

it('adds the settings once, to what was there', () => {
  const lean = leanEnvironment({ QZ_DATA_DIR: '/data' }, ample);
  expect(lean).toEqual({ QZ_DATA_DIR: '/data', MALLOC_MMAP_THRESHOLD_: '131072' });
  expect(leanEnvironment(lean ?? {}, ample)).toBeUndefined();
});

it('has the threads share arenas in little memory', () => {
  const lean = leanEnvironment({ MALLOC_MMAP_THRESHOLD_: '131072' }, small);
  expect(lean).toMatchObject({ MALLOC_ARENA_MAX: '2' });
  expect(leanEnvironment(lean ?? {}, small)).toBeUndefined();
});

it("leaves an operator's own settings", () => {
  const own = { MALLOC_MMAP_THRESHOLD_: '65536' };
  expect(leanEnvironment(own, ample)).toBeUndefined();
  expect(leanEnvironment(own, small)).toMatchObject({ ...own, MALLOC_ARENA_MAX: '2' });
});
