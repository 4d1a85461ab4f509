import { getRandomValues } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  foldShortCode,
  generateShortCode,
  partitionCount,
  partitionOf,
} from '../../src/model/code.ts';

describe('generateShortCode', () => {
  test('gives 8 characters of the alphabet, each about equally often', () => {
    const counts = new Map<string, number>();
    for (let made = 0; made < 8_000; made++) {
      const code = generateShortCode(getRandomValues);
      expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
      for (const character of code) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(counts.size).toBe(32);
    // 2,000 expected of each, standard deviation 44.
    for (const count of counts.values()) expect(Math.abs(count - 2_000)).toBeLessThan(300);
  });

  test('a generated code is its own folding in any case', () => {
    for (let made = 0; made < 100; made++) {
      const code = generateShortCode(getRandomValues);
      expect(foldShortCode(code.toLowerCase())).toBe(code);
    }
  });
});

describe('partitionOf', () => {
  test('spreads neighbours evenly, and never changes', () => {
    const counts = Array<number>(partitionCount).fill(0);
    for (let no = 1; no <= 64_000; no++) counts[partitionOf(no)]! += 1;
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(200);
    expect([1, 2, 3, 1_000_000, 2 ** 32 - 1].map(partitionOf)).toMatchInlineSnapshot(`
      [
        55,
        6,
        39,
        9,
        57,
      ]
    `);
  });
});
