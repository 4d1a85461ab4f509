/** In little memory the service gives its allocator settings that it would not take later. */
import { expect, it } from 'vitest';
import { leanEnvironment } from '../../src/engine/machine/allocator.ts';
import { memoryBytesMin } from '../../src/engine/machine/machine-plan.ts';

const small = { cores: 2, memoryBytes: memoryBytesMin };

it('adds the settings once, to what was there', () => {
  const lean = leanEnvironment({ QZ_DATA_DIR: '/data' }, small);
  expect(lean).toMatchObject({ QZ_DATA_DIR: '/data', MALLOC_ARENA_MAX: '2' });
  expect(leanEnvironment(lean ?? {}, small)).toBeUndefined();
});

it("leaves an operator's own settings, and a machine with enough memory", () => {
  expect(leanEnvironment({ MALLOC_ARENA_MAX: '8' }, small)).toBeUndefined();
  expect(leanEnvironment({}, { cores: 2, memoryBytes: 2 ** 30 })).toBeUndefined();
});
