import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hiddenCharacters, lineFault, shownText, visibleLine } from '../../src/model/text.ts';
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

  it.each([
    ' ',
    '\u00a0\u3000',
    '\u200b',
    '\u200d',
    '\u202e',
    '\ufeff',
    '\u3164',
    '\u2800',
    '\ufe0f',
  ])('%j is blank', (text) => expect(lineFault(text)?.code).toBe('required'));

  it.each([
    'a\u202eb',
    'a\u200fb',
    'a\u2066b',
    'a\u200bb',
    'To\u200dm',
    'a\u200d',
    '\u{1f600}\u{e0067}',
    'a\tb',
    'a\nb',
    'a\ud800',
    'a\u0085b',
    'é\u200d\u200dé',
  ])('%j hides something', (text) => expect(lineFault(text)?.code).toBe('invalid_format'));

  it('a reordered or hidden character is never legal', () => {
    const bidi = fc.constantFrom(
      '\u061c',
      '\u200e',
      '\u200f',
      '\u202a',
      '\u202e',
      '\u2066',
      '\u2069',
      '\u200b',
      '\ufeff',
      '\u00ad',
    );
    fc.assert(
      fc.property(anyText(), bidi, anyText(), (head, bad, tail) => {
        expect(lineFault(head + bad + tail)).toBeDefined();
      }),
    );
  });
});

describe('visibleLine', () => {
  it('is legal or empty, and keeps what is legal', () => {
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
});

describe('shownText', () => {
  it('is short, well-formed and on one line', () => {
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
});
