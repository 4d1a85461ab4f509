/** Answers in memory: within their bound, valid until the next commit, checked by version after it. */
import { expect, test } from 'vitest';
import { type ImageAnswer, ImageCache } from '../../src/images/image-cache.ts';
import { Signal } from '../../src/model/signal.ts';

const answer = (bytes: number): ImageAnswer => ({
  status: 200,
  headers: { ETag: '"a"' },
  body: new Uint8Array(bytes),
});

test('an answer is found until something is committed, then checked by its version', () => {
  const [change, window] = [new Signal(), new Signal()];
  const cache = new ImageCache(10_000, [change, window]);
  const kept = answer(100);
  cache.put('/i/a.png?', 'v1', cache.commits, kept);
  expect(cache.find('/i/a.png?')).toBe(kept);
  for (const signal of [change, window]) {
    signal.fire();
    expect(cache.find('/i/a.png?')).toBeUndefined();
    expect(cache.check('/i/a.png?', 'v2')).toBeUndefined();
    expect(cache.find('/i/a.png?')).toBeUndefined();
    expect(cache.check('/i/a.png?', 'v1')).toBe(kept);
    expect(cache.find('/i/a.png?')).toBe(kept);
  }
  expect(cache.found).toBe(3);
});

test('an answer that was made before a commit must be checked', () => {
  const change = new Signal();
  const cache = new ImageCache(10_000, [change]);
  const { commits } = cache;
  change.fire();
  cache.put('/i/a.png?', 'v1', commits, answer(100));
  expect(cache.find('/i/a.png?')).toBeUndefined();
  expect(cache.check('/i/a.png?', 'v1')).toBeDefined();
});

test('the least recently used answers go first, and the bound holds; 0 keeps nothing', () => {
  const cache = new ImageCache(3_000, []);
  for (const name of ['a', 'b']) cache.put(name, 'v', 0, answer(700));
  expect(cache.find('a')).toBeDefined();
  cache.put('c', 'v', 0, answer(700));
  expect(['a', 'b', 'c'].map((name) => cache.find(name) !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
  for (let at = 0; at < 1_000; at += 1) {
    cache.put(`k${at % 7}`, 'v', 0, answer(at % 3_500));
    expect(cache.bytes).toBeLessThanOrEqual(3_000);
  }
  cache.put('large', 'v', 0, answer(3_000));
  expect(cache.find('large')).toBeUndefined();
  const none = new ImageCache(0, []);
  none.put('a', 'v', 0, answer(0));
  expect([none.find('a'), none.bytes]).toEqual([undefined, 0]);
});
