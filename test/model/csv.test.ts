import { expect, test } from 'vitest';
import { csvLine } from '../../src/model/csv.ts';

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

test('plain text and numbers stay as they are', () => {
  expect(csvLine(['a=1', ' a', '', -1, null])).toBe('a=1, a,,-1,\r\n');
});
