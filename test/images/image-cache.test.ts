/** Answers in memory stay within their bound. */
import { expect, test } from 'vitest';
import { createImageCache, type ImageAnswer } from '../../src/images/image-cache.ts';

const answer = (bytes: number): ImageAnswer => ({
  status: 200,
  headers: { ETag: '"a"' },
  body: new Uint8Array(bytes),
});

test('the bound holds for images of any size; 0 keeps nothing', () => {
  const cache = createImageCache(3_000);
  for (let at = 0; at < 1_000; at += 1) {
    cache.set(`k${at % 7}`, answer(at % 3_500));
    expect(cache.calculatedSize).toBeLessThanOrEqual(3_000);
  }
  for (let at = 0; at < 1_000; at += 1) cache.set(`e${at}`, answer(0));
  expect(cache.size).toBeLessThan(7);
  const none = createImageCache(0);
  none.set('a', answer(0));
  expect(none.size).toBe(0);
});
