import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldText } from '../../src/model/fold.ts';
import { runs } from '../seconds/runs.ts';
import { anyText } from './any-text.ts';

test.each([
  ['Café CAFÉ cafe\u0301', 'cafe cafe cafe'],
  ['Straße STRASSE ẞ', 'strasse strasse ss'],
  ['ΟΔΥΣΣΕΥΣ Οδυσσεύς', 'οδυσσευσ οδυσσευσ'],
  ['İstanbul ISTANBUL ıstanbul', 'istanbul istanbul istanbul'],
  ['Łódź Ørsted', 'łodz ørsted'],
  ['ﬁne ½ ＡＢ', 'fine 1⁄2 ab'],
  ['Москва́ МОСКВА', 'москва москва'],
])('%s is compared as %s', (text, folded) => {
  expect(foldText(text)).toBe(folded);
});

test('a part of a text is folded as it is inside of the whole, and a folded text stays', () => {
  const text = anyText({ maxLength: 12 });
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(foldText(one + other)).toBe(foldText(one) + foldText(other));
      expect(foldText(foldText(one))).toBe(foldText(one));
    }),
    { numRuns: runs(500) },
  );
});
