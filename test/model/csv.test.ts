import { expect, test } from 'vitest';
import { csvLine, unguarded } from '../../src/model/csv.ts';

test.each([
  '=1',
  '+1',
  '-1',
  '@a',
  '\t1',
  '＝1',
  '＋1',
  '－1',
  '＠a',
  ' =1',
  '\u00a0＝1',
  '\u3000=1',
])('the formula %j gets an apostrophe', (cell) => {
  expect(csvLine([cell])).toBe(`'${cell}\r\n`);
});

test.each(['=1', "'=1", "''+a", "'a", ' ＝1', 'a=1', "'"])('%j is read back as it was', (text) => {
  expect(unguarded(csvLine([text]).slice(0, -2))).toBe(text);
});

test('plain text and numbers stay as they are', () => {
  expect(csvLine(['a=1', ' a', '', -1, null])).toBe('a=1, a,,-1,\r\n');
});
