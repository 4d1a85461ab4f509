import { getRandomValues } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  foldShortCode,
  generateShortCode,
  partitionCount,
  partitionOf,
} from '../../src/model/code.ts';
import { csvLine, unguarded } from '../../src/model/csv.ts';
import { foldText } from '../../src/model/fold.ts';
import { hiddenCharacters, lineFault, shownText, visibleLine } from '../../src/model/text.ts';
import { runs } from '../seconds/runs.ts';
import { anyText } from './any-text.ts';

/** A family, a flag with tags, a pirate flag, a skin tone; words of scripts that join their letters. */
const joined = [
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
  '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  '\u{1f3f4}\u200d\u2620\ufe0f',
  '\u{1f468}\u{1f3fd}\u200d\u{1f680}',
  'می\u200cخواهم',
];

describe('lineFault', () => {
  it.each([...joined, 'Table 12', 'Łódź é', '!', '\u0301'])('%j is legal', (text) => {
    expect(lineFault(text)).toBeUndefined();
  });

  const blank = '\u00a0 \u3000 \u200b \u200d \u202e \ufeff \u3164 \u2800 \ufe0f'.split(' ');
  it.each([' ', ...blank])('%j is blank', (text) => expect(lineFault(text)?.code).toBe('required'));

  it.each([
    ...'a\tb a\nb a\u0085b a\u200bb a\u200fb a\u202eb a\u2066b a\u200d a\ud800'.split(' '),
    ...'To\u200dm é\u200d\u200dé \u{1f600}\u{e0067}'.split(' '),
  ])('%j hides something', (text) => expect(lineFault(text)?.code).toBe('invalid_format'));

  it('a reordered or hidden character is never legal', () => {
    const marks = '\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u200b\ufeff\u00ad'.split('');
    const bidi = fc.constantFrom(...marks);
    fc.assert(
      fc.property(anyText(), bidi, anyText(), (head, bad, tail) => {
        expect(lineFault(head + bad + tail)).toBeDefined();
      }),
    );
  });
});

it('visibleLine is legal or empty, and keeps what is legal', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const line = visibleLine(text);
      expect(line === '' || lineFault(line) === undefined).toBe(true);
      if (lineFault(text) === undefined) expect(line).toBe(text.trim());
    }),
  );
  for (const text of joined) expect(visibleLine(text)).toBe(text);
  expect(visibleLine('\u202eevil\u200b\ttitle ')).toBe('evil title');
  expect(visibleLine('\u200b \u2028')).toBe('');
});

it('shownText is short, well-formed and on one line', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 40 }), (text) => {
      const shown = shownText(text, 20);
      expect(shown.length).toBeLessThanOrEqual(20);
      expect(shown.isWellFormed()).toBe(true);
      expect(hiddenCharacters.test(shown)).toBe(false);
    }),
  );
  expect(shownText('tags.3', 20)).toBe('tags.3');
  expect(shownText('a\ud800\r\n\u202e', 20)).toBe('a\ufffd\ufffd\ufffd\ufffd');
});

test('generateShortCode gives 8 characters of the alphabet, each about equally often, that fold to themselves', () => {
  const counts = new Map<string, number>();
  for (let made = 0; made < 8_000; made++) {
    const code = generateShortCode(getRandomValues);
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
    expect(foldShortCode(code.toLowerCase())).toBe(code);
    for (const character of code) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  expect(counts.size).toBe(32);
  // 2,000 expected of each, standard deviation 44.
  for (const count of counts.values()) expect(Math.abs(count - 2_000)).toBeLessThan(300);
});

test('partitionOf spreads neighbours evenly, and never changes', () => {
  const counts = Array<number>(partitionCount).fill(0);
  for (let no = 1; no <= 64_000; no++) counts[partitionOf(no)]! += 1;
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(200);
  expect([1, 2, 3, 1_000_000, 2 ** 32 - 1].map(partitionOf)).toEqual([55, 6, 39, 9, 57]);
});

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

test.each([...'=1 +1 -1 @a \t1 ＝1 ＋1 －1 ＠a'.split(' '), ' =1', '\u00a0＝1', '\u3000=1'])(
  'the formula %j gets an apostrophe',
  (cell) => {
    expect(csvLine([cell])).toBe(`'${cell}\r\n`);
  },
);

test.each(['=1', "'=1", "''+a", "'a", ' ＝1', 'a=1', "'"])('%j is read back as it was', (text) => {
  expect(unguarded(csvLine([text]).slice(0, -2))).toBe(text);
});

test('plain text and numbers stay as they are', () => {
  expect(csvLine(['a=1', ' a', '', -1, null])).toBe('a=1, a,,-1,\r\n');
});
