import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatCursor, parseCursor } from '../../src/model/cursor.ts';

it('a cursor carries its numbers', () => {
  const numbers = fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(numbers, (given) => {
      expect(parseCursor(formatCursor(...given), given.length)).toEqual(given);
    }),
  );
});

it.each([
  ['another text', 'nonsense', 1],
  ['nothing', '', 1],
  ['too few numbers', '1', 2],
  ['too many', '1.2.3', 2],
  ['a number written otherwise', '01', 1],
  ['an exponent', '1e3', 1],
  ['a negative one', '-1', 1],
  ['one beyond what is exact', '9007199254740993', 1],
  ['a text in base64', 'AZXuC0gAAAAAKg', 2],
])('%s is refused', (_name, text, count) => {
  expect(() => parseCursor(text, count)).toThrow('Expected nextCursor of the page before');
});
