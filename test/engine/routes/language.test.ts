/** `Accept-Language`: headers as phones and libraries send them, and lookup against a plain reading of the RFC. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bestLanguage, preferredLanguage } from '../../../src/engine/routes/language.ts';
import { anyText } from '../../model/any-text.ts';

const available = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'tr', 'ja'];

/** As the conditions of rules take it (engine/routes/program-reader.ts). */
const matchesLanguage = (header: string, ranges: readonly string[]): boolean => {
  const language = preferredLanguage(header);
  const isIn = (range: string): boolean => language === range || language.startsWith(`${range}-`);
  return ranges.some((range) => isIn(range.toLowerCase()));
};

/** What the comparison with a plain reading does not draw. */
it.each([
  ['Safari on an iPhone, Austria', 'de-AT,de;q=0.9', 'de'],
  ['Japanese with a region and a script', 'ja-Jpan-JP;q=1.0', 'ja'],
  ['capitals, tabs, a capital Q', 'DE-de\t; Q=0.8 ,EN;q=0.3', 'de'],
  ['a star is passed over', '*, de;q=0.5', 'de'],
  ['a private subtag is cut off with its letter', 'de-x-bayern', 'de'],
  ['broken entries are passed over', 'de_DE, fr;q=abc, es;level=1, pl;q=1.5, it', 'it'],
  ['curl sends none', '', undefined],
  ['any', '*', undefined],
  ['nothing that is there', 'sv-SE, fi;q=0.8', undefined],
])('bestLanguage %s', (_name, header, expected) => {
  expect(bestLanguage(header, available)).toBe(expected);
});

describe('a header of any length', () => {
  it('is read as far as whole entries fit into 1,024 characters', () => {
    const padding = `x-${'a'.repeat(509)},`;
    expect(bestLanguage(`${padding.repeat(2)}de`, available)).toBeUndefined();
    expect(bestLanguage(`${padding}${'b'.repeat(509)},de-CH`, available)).toBeUndefined();
    expect(bestLanguage(`${padding}fr,de`, available)).toBe('fr');
    expect(bestLanguage('a'.repeat(5_000), available)).toBeUndefined();
  });

  it('is read for 32 entries', () => {
    expect(matchesLanguage('den', ['de'])).toBe(false);
    expect(matchesLanguage('*,de;q=0.1', ['de'])).toBe(true);
    expect(matchesLanguage(`${'sv;q=0.1,'.repeat(31)}de`, ['de'])).toBe(true);
    expect(matchesLanguage(`${'sv;q=0.1,'.repeat(32)}de`, ['de'])).toBe(false);
  });

  it('never fails, whatever it holds', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 200 }), (header) => {
        const found = bestLanguage(header, available);
        expect(found === undefined || available.includes(found)).toBe(true);
        matchesLanguage(header, available);
      }),
    );
  });
});

const subtag = fc.constantFrom('de', 'en', 'pt', 'AT', 'br', 'x', 'Latn', '1994');
const range = fc.array(subtag, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('-'));
const entry = fc.record({ range, thousandths: fc.integer({ min: 0, max: 1_000 }) });
const blank = fc.constantFrom('', ' ', '\t', '  ');

/** The same with strings, arrays and a sort. */
function naive(entries: ReadonlyArray<{ range: string; thousandths: number }>): string[] {
  return entries
    .filter(({ thousandths }) => thousandths > 0)
    .toSorted((a, b) => b.thousandths - a.thousandths)
    .map((one) => one.range.toLowerCase());
}

function naiveLookup(wanted: readonly string[], tags: readonly string[]): string | undefined {
  const find = (text: string) => tags.find((tag) => tag.toLowerCase() === text);
  for (const one of wanted) {
    const parts = one.split('-');
    while (parts.length > 0) {
      const found = find(parts.join('-'));
      if (found !== undefined) return found;
      parts.pop();
      if (parts.length > 1 && parts.at(-1)?.length === 1) parts.pop();
    }
    const narrower = tags.find((tag) => tag.toLowerCase().startsWith(`${one}-`));
    if (narrower !== undefined) return narrower;
  }
  return undefined;
}

it('both functions equal a reading with strings, arrays and a sort', () => {
  const header = fc.array(entry, { maxLength: 12 });
  const tags = fc.array(range, { maxLength: 6 });
  fc.assert(
    fc.property(header, tags, blank, (entries, ranges, gap) => {
      const text = entries
        .map((one) => `${gap}${one.range}${gap};${gap}q=${(one.thousandths / 1_000).toFixed(3)}`)
        .join(`${gap},`);
      const wanted = naive(entries);
      expect(bestLanguage(text, ranges)).toBe(naiveLookup(wanted, ranges));
      const first = wanted[0];
      const isMatch = ranges.some((one) => `${first}-`.startsWith(`${one.toLowerCase()}-`));
      expect(matchesLanguage(text, ranges)).toBe(first !== undefined && isMatch);
    }),
    { numRuns: 1_000 },
  );
});
