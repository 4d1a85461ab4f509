/** Rules as sentences, as a person reads them. */
import { expect, test } from 'vitest';
import { outcomeText, sentenceOf } from '../../src/dashboard/pages/code/routing/sentence.ts';
import type { RouteConditions } from '../../src/model/routing/routing.ts';

const timezone = 'Europe/Berlin';
const workdays = ['mon', 'tue', 'wed', 'thu', 'fri'] as const;

const cases: ReadonlyArray<readonly [conditions: RouteConditions, sentence: string]> = [
  [
    { device: ['mobile'], os: ['iOS'], country: ['DE', 'AT'] },
    'If the phone is an iPhone and the country is Germany or Austria',
  ],
  [{ os: ['iOS'] }, 'If the device is an iPhone or iPad'],
  [
    { os: ['Android', 'Windows', 'other'] },
    'If the device runs Android, Windows or another system',
  ],
  [{ device: ['tablet'], os: ['iOS'] }, 'If the tablet is an iPad'],
  [
    { device: ['mobile', 'tablet'], os: ['Android'] },
    'If the device is a phone or a tablet and it runs Android',
  ],
  [{ device: ['desktop'] }, 'If the device is a computer'],
  [{ browser: ['Samsung Internet', 'other'] }, 'If the browser is Samsung Internet or another one'],
  [{ country: ['DE'] }, 'If the country is Germany'],
  [{ country: ['DE', 'ZZ'] }, 'If the country is Germany or unknown'],
  [
    { country: ['DE', 'AT', 'CH', 'FR', 'IT', 'ES', 'PT'] },
    'If the country is Germany, Austria, Switzerland, France or 3 more countries',
  ],
  [
    { language: ['de', 'pt-BR', 'en'] },
    'If the language is German, Brazilian Portuguese or English',
  ],
  [
    { time: { days: workdays, from: '11:00', to: '14:00', timezone } },
    'If it is Monday to Friday, 11:00 to 14:00 (Berlin time)',
  ],
  [
    { time: { days: ['mon', 'tue', 'wed', 'sat'], timezone } },
    'If it is Monday to Wednesday or Saturday (Berlin time)',
  ],
  [{ time: { days: ['sat', 'sun'], timezone: 'UTC' } }, 'If it is Saturday or Sunday (UTC)'],
  [
    { time: { days: ['fri', 'mon', 'wed'], from: '18:00', timezone: 'America/New_York' } },
    'If it is Monday, Wednesday or Friday, 18:00 or later (New York time)',
  ],
  [
    { time: { from: '22:00', to: '02:00', timezone } },
    'If it is 22:00 to 02:00 the next day (Berlin time)',
  ],
  [{ time: { to: '11:30', timezone } }, 'If it is before 11:30 (Berlin time)'],
  [{ time: { from: '11:30', to: '24:00', timezone } }, 'If it is 11:30 or later (Berlin time)'],
  [{ query: { table: '5', bar: '*' } }, 'If the link has table=5 and any “bar”'],
  // While it is written.
  [{}, 'If …'],
  [{ country: [] }, 'If the country is …'],
  [{ time: { days: [], timezone: '' } }, 'If it is … (…)'],
  [{ date: {} }, 'If the date is before …'],
  [{ query: {} }, 'If the link has …'],
];

test.each(cases)('sentenceOf %j', (conditions, sentence) => {
  expect(sentenceOf(conditions)).toBe(sentence);
});

test('sentenceOf names both ends of a span of time, or the one that there is', () => {
  const [from, to] = ['2026-12-01T12:00:00.000Z', '2027-01-15T12:00:00.000Z'];
  expect(sentenceOf({ date: { from, to } })).toMatch(/^If the date is from .*2026.* until .*2027/);
  expect(sentenceOf({ date: { from } })).toMatch(/^If the date is .*2026.* or later$/);
  expect(sentenceOf({ date: { to } })).toMatch(/^If the date is before .*2027/);
});

test('outcomeText is the address, or how many there are', () => {
  expect(outcomeText({ target: 'https://www.example.com/menu/' })).toBe('example.com/menu');
  expect(outcomeText({ target: '' })).toBe('…');
  const variant = { label: 'a', target: 'https://example.com', weight: 1 };
  expect(outcomeText({ split: [variant, { ...variant, label: 'b' }] })).toBe('2 destinations');
});
