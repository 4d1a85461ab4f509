/**
 * Rules of a code as a person reads them, as sentences, and while they are edited: what is sent of them, their labels, the
 * place of faults, and shares that sum to 100.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { QrCode } from '../../../src/dashboard/client/wire.ts';
import {
  changeOf,
  draftOf,
  labelsOf,
  newKey,
  type RuleDraft,
  type VariantDraft,
} from '../../../src/dashboard/pages/code/routing/route-draft.ts';
import { RouteFaults } from '../../../src/dashboard/pages/code/routing/route-faults.ts';
import { outcomeText, sentenceOf } from '../../../src/dashboard/pages/code/routing/sentence.ts';
import { wholePercents } from '../../../src/dashboard/pages/code/routing/shares.ts';
import { labelPattern, reservedLabels } from '../../../src/model/routing/labels.ts';
import type { RouteConditions } from '../../../src/model/routing/routing.ts';

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

/** What a draft is made from. */
const code = {
  rules: [
    {
      label: 'lunch',
      if: {
        time: { from: '11:00', to: '24:00', timezone },
        date: { from: '2026-01-01T00:00:30.000Z' },
        query: { table: '*' },
      },
      then: { target: 'https://example.com/lunch' },
    },
    {
      label: 'apps',
      if: { os: ['iOS'] },
      then: {
        split: [
          { label: 'a', target: 'https://example.com/a', weight: 1 },
          { label: 'b', target: 'https://example.com/b', weight: 2 },
        ],
      },
    },
  ],
  split: null,
  utm: { source: 'qr' },
  passQuery: false,
  startsAt: null,
  fallbackUrl: null,
} as Partial<QrCode> as QrCode;

const rule = (conditions: RuleDraft['if'], more: Partial<RuleDraft> = {}): RuleDraft => ({
  key: newKey(),
  label: '',
  if: conditions,
  target: '',
  split: undefined,
  ...more,
});
const variant = (target: string): VariantDraft => ({
  key: newKey(),
  label: '',
  target,
  weight: '50',
});

test('a draft that nobody has touched changes nothing, whatever it was made from', () => {
  expect(changeOf(draftOf(code), draftOf(code))).toEqual({});
});

test('changeOf sends what has changed, lists as a whole, and null for what is taken away', () => {
  const before = draftOf(code);
  const [lunch, apps] = before.rules;
  if (lunch === undefined || apps === undefined) throw new Error('Expected two rules');
  expect(changeOf(before, { ...before, rules: [apps, lunch] })).toEqual({
    rules: [
      code.rules[1],
      {
        ...code.rules[0],
        if: { ...code.rules[0]?.if, time: { from: '11:00', timezone } },
      },
    ],
  });
  expect(
    changeOf(before, {
      ...before,
      utm: { ...before.utm, source: '', medium: 'print' },
      startsAt: '2026-02-01T08:00:00.000Z',
      fallbackUrl: ' example.com/closed ',
    }),
  ).toEqual({
    utm: { source: null, medium: 'print', campaign: null, term: null, content: null },
    startsAt: '2026-02-01T08:00:00.000Z',
    fallbackUrl: 'https://example.com/closed',
  });
  expect(changeOf(before, { ...before, utm: { ...before.utm, source: '' } })).toEqual({
    utm: null,
  });
  const split = [variant('example.com/x'), variant('example.com/y')];
  expect(changeOf(before, { ...before, rules: [], split })).toEqual({
    rules: [],
    split: [
      { label: 'variant-1', target: 'https://example.com/x', weight: 50 },
      { label: 'variant-2', target: 'https://example.com/y', weight: 50 },
    ],
  });
});

test('labelsOf keeps what was written, and makes names that are allowed and unlike each other', () => {
  const split = [variant('a'), variant('b')];
  const rules = [
    rule({ device: ['mobile'], country: ['DE', 'CI'] }),
    rule({ language: ['de'] }, { label: 'ios' }),
    rule({ os: ['iOS'] }, { split }),
    rule({ query: [{ name: 'target', value: '' }] }),
    rule({ query: [{ name: '日本', value: '' }] }),
    rule({}),
  ];
  const labels = labelsOf({ rules, split: undefined });
  expect(rules.map(({ key }) => labels.get(key))).toEqual([
    'phone-germany-cote-d-ivoire',
    'ios',
    'ios-2',
    'target-2',
    'rule',
    'rule-2',
  ]);
  expect(split.map(({ key }) => labels.get(key))).toEqual(['ios-2-1', 'ios-2-2']);
});

test('labels that are made are always labels of the API', () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 60 });
  fc.assert(
    fc.property(fc.array(name, { maxLength: 20 }), (names) => {
      const rules = names.map((text) =>
        rule({ query: [{ name: text, value: '' }] }, { split: [variant(''), variant('')] }),
      );
      const labels = [...labelsOf({ rules, split: [variant('')] }).values()];
      expect(new Set(labels).size).toBe(labels.length);
      for (const label of labels) {
        expect(label).toMatch(labelPattern);
        expect(reservedLabels.has(label)).toBe(false);
      }
    }),
    { numRuns: 50 },
  );
});

test('faults stay with their rule and variant when they are moved after a refused save', () => {
  const sent = draftOf(code);
  const [first, second] = sent.rules;
  if (first === undefined || second?.split?.[1] === undefined) throw new Error('Expected rules');
  const fault = (path: string) => ({ path, code: 'x', message: `wrong: ${path}` });
  const faults = new RouteFaults(
    ['rules.0.if.country.0', 'rules.1.then.split.1.target', 'utm.source', 'rules.0'].map(fault),
    sent,
  );
  expect(faults.underKey(first.key, 'if.country')).toBe('wrong: rules.0.if.country.0');
  expect(faults.atKey(first.key)).toBe('wrong: rules.0');
  expect(faults.atKey(first.key, 'if')).toBeUndefined();
  expect(faults.underKey(second.split[1].key, 'target')).toBe('wrong: rules.1.then.split.1.target');
  expect(faults.under('utm.source')).toBe('wrong: utm.source');
  expect([faults.isFaulty(first.key), faults.isFaulty(newKey())]).toEqual([true, false]);
  expect(faults.areShown).toBe(true);
  expect(new RouteFaults([fault('rules.0'), fault('target')], sent).areShown).toBe(false);
});

test('wholePercents sums to 100 and is never off by one whole percent', () => {
  expect(wholePercents([1, 1, 1])).toEqual([34, 33, 33]);
  expect(wholePercents([0, 0])).toEqual([0, 0]);
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 2, maxLength: 8 }),
      (weights) => {
        const percents = wholePercents(weights);
        const sum = weights.reduce((before, weight) => before + weight, 0);
        expect(percents.reduce((before, percent) => before + percent, 0)).toBe(100);
        percents.forEach((percent, at) => {
          expect(Math.abs(percent - ((weights[at] ?? 0) * 100) / sum)).toBeLessThan(1);
        });
      },
    ),
  );
});
