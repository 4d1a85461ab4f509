/** What /v1/qr-codes refuses of rules, splits, utm and states: each fault with its path and its code, all at once. */
import { expect, test } from 'vitest';
import { type Answer, word } from '../../support/client.ts';
import { useTestApi } from '../../support/test-client.ts';

const { client, makeCode } = await useTestApi();

const target = 'https://example.com/menu';
const otherTarget = 'https://example.com/other';
const then = { target: otherTarget };
const leading = (label: string) => ({ label, target: otherTarget, weight: 1 });
const rule = (label: string, conditions: object, more: object = {}) => {
  return { label, if: conditions, then, ...more };
};
const ios = (label: string, more: object = {}) => rule(label, { os: ['iOS'] }, more);
const long = (length: number) => `https://example.com/${'a'.repeat(length - 20)}`;
const numbered = <Of>(count: number, one: (at: number) => Of): Of[] =>
  Array.from({ length: count }, (_, at) => one(at));
const splitRules = (rules: number, variants: number) =>
  numbered(rules, (at) => {
    const split = numbered(variants, (variant) => leading(`r${at}-${variant}`));
    return ios(`r${at}`, { then: { split } });
  });
/** A rule for each condition, with a label of its own. */
const rulesOf = (...conditions: readonly object[]) => ({
  rules: conditions.map((one, at) => rule(`r${at}`, one)),
});
const inZone = (window: object) => ({ time: { timezone: 'Europe/Berlin', ...window } });

/** Paths by the code of their fault. Codes and paths are what clients go by. */
type Faults = Readonly<Record<string, readonly string[]>>;

const linesOf = (faults: Faults): string[] =>
  Object.entries(faults)
    .flatMap(([code, paths]) => paths.map((path) => `${code} ${path}`))
    .toSorted();
const faultsOf = ({ faults }: Answer): string[] =>
  faults.map(({ path, code }) => `${code} ${path}`).toSorted();

type Case = readonly [what: string, fields: object, faults: Faults];

const shapes: readonly Case[] = [
  ['no list', { rules: {} }, { wrong_type: ['rules'] }],
  ['21 rules', { rules: numbered(21, (at) => ios(`r${at}`)) }, { too_big: ['rules'] }],
  [
    'rules of another shape',
    {
      rules: [
        {},
        ios('a', { els: 1 }),
        ios('One'),
        ios('b', { then: {} }),
        ios('c', { then: { target, split: [leading('d'), leading('e')] } }),
      ],
    },
    {
      required: ['rules.0.label', 'rules.0.if', 'rules.0.then', 'rules.3.then'],
      unknown_field: ['rules.1.els'],
      invalid_format: ['rules.2.label'],
      goes_alone: ['rules.4.then'],
    },
  ],
  ['a split of one', { split: [leading('a')] }, { too_small: ['split'] }],
  ['a split of nine', { split: numbered(9, (at) => leading(`v${at}`)) }, { too_big: ['split'] }],
  [
    'variants out of bounds',
    {
      split: [
        { ...leading('a'), weight: 0 },
        { ...leading('b'), weight: 1_001 },
        { ...leading('c'), weight: 1.5 },
        leading('a'.repeat(41)),
      ],
    },
    {
      too_small: ['split.0.weight'],
      too_big: ['split.1.weight'],
      wrong_type: ['split.2.weight'],
      invalid_format: ['split.3.label'],
    },
  ],
  [
    'unknown and long utm, and a start before 1970',
    { utm: { sauce: 'qr', medium: 'm'.repeat(121), term: '' }, startsAt: '1969-12-31T23:59:59Z' },
    {
      unknown_field: ['utm.sauce'],
      too_big: ['utm.medium'],
      too_small: ['utm.term'],
      out_of_range: ['startsAt'],
    },
  ],
];

const conditions: readonly Case[] = [
  [
    'no condition, an unknown one, or seven',
    rulesOf(
      {},
      { colour: ['red'] },
      {
        device: ['mobile'],
        os: ['iOS'],
        browser: ['Safari'],
        country: ['DE'],
        language: ['de'],
        date: { from: '2027-01-01T00:00:00Z' },
        query: { a: '*' },
      },
    ),
    { required: ['rules.0.if'], unknown_field: ['rules.1.if.colour'], too_many: ['rules.2.if'] },
  ],
  [
    'lists that are empty or long',
    rulesOf(
      { device: [], country: [], language: [] },
      { country: numbered(61, () => 'DE'), language: numbered(21, () => 'de') },
    ),
    {
      too_small: ['device', 'country', 'language'].map((list) => `rules.0.if.${list}`),
      too_big: ['rules.1.if.country', 'rules.1.if.language'],
    },
  ],
  [
    'unknown words, countries and languages',
    rulesOf({
      device: ['phone'],
      browser: ['Safari', 'Netscape'],
      country: ['de', 'EU', 'UK', 'XX', 'ZZ'],
      language: ['*', 'd', 'de_AT', 'de-', 'pt-BR'],
    }),
    {
      not_allowed: [
        'rules.0.if.device.0',
        'rules.0.if.browser.1',
        ...[0, 1, 2, 3].map((at) => `rules.0.if.country.${at}`),
      ],
      invalid_format: [0, 1, 2, 3].map((at) => `rules.0.if.language.${at}`),
    },
  ],
  [
    'zones that are none',
    rulesOf(
      { time: { from: '09:00' } },
      ...['Mars/Olympus', '+01:00', '', 'Europe/Berlin '].map((timezone) => ({
        time: { timezone, from: '09:00' },
      })),
    ),
    {
      required: ['rules.0.if.time.timezone'],
      unknown_timezone: [1, 2, 3, 4].map((at) => `rules.${at}.if.time.timezone`),
    },
  ],
  [
    'windows of time that are none',
    rulesOf(
      inZone({}),
      inZone({ from: '24:00', to: '9:00' }),
      inZone({ from: '09:00', to: '09:00' }),
      inZone({ to: '00:00' }),
      inZone({ days: [] }),
      inZone({ days: ['mon', 'Tue'] }),
    ),
    {
      required: ['rules.0.if.time'],
      invalid_format: ['rules.1.if.time.from', 'rules.1.if.time.to'],
      empty_window: ['rules.2.if.time.to', 'rules.3.if.time.to'],
      too_small: ['rules.4.if.time.days'],
      not_allowed: ['rules.5.if.time.days.1'],
    },
  ],
  [
    'dates that are none',
    rulesOf(
      { date: {} },
      { date: { from: '2027-01-01' } },
      { date: { from: '2027-01-01T00:00:00Z', to: '2027-01-01T01:00:00+01:00' } },
    ),
    {
      required: ['rules.0.if.date'],
      invalid_format: ['rules.1.if.date.from'],
      empty_window: ['rules.2.if.date.to'],
    },
  ],
  [
    'parameters that are none',
    rulesOf(
      { query: {} },
      { query: Object.fromEntries(numbered(6, (at) => [`p${at}`, '*'] as const)) },
      { query: { ['n'.repeat(41)]: '*', long: 'v'.repeat(121), kind: 7, hidden: '\u200b' } },
    ),
    {
      required: ['rules.0.if.query'],
      too_many: ['rules.1.if.query'],
      too_big: [`rules.2.if.query.${'n'.repeat(41)}`, 'rules.2.if.query.long'],
      wrong_type: ['rules.2.if.query.kind'],
      invalid_characters: ['rules.2.if.query.hidden'],
    },
  ],
];

const rules: readonly Case[] = [
  [
    'a parameter that objects have already',
    rulesOf({ query: JSON.parse('{"__proto__":"1","table":"2"}') }),
    { unknown_field: ['rules.0.if.query.__proto__'] },
  ],
  [
    'reserved labels',
    { rules: [ios('target'), ios('expired')], split: [leading('paused'), leading('fine')] },
    { reserved: ['rules.0.label', 'rules.1.label', 'split.0.label'] },
  ],
  [
    'labels twice',
    {
      rules: [ios('a'), ios('b', { then: { split: [leading('a'), leading('c')] } })],
      split: [leading('c'), leading('b')],
    },
    { duplicate: ['rules.1.then.split.0.label', 'split.0.label', 'split.1.label'] },
  ],
  [
    '29 targets',
    { rules: splitRules(4, 6), split: numbered(5, (at) => leading(`s${at}`)) },
    { too_many: ['split.4.target'] },
  ],
  [
    'targets that are none',
    {
      rules: [
        ios('one', { then: { target: 'javascript:alert(1)' } }),
        ios('two', {
          then: { split: [leading('a'), { ...leading('b'), target: 'https://u:p@example.com/' }] },
        }),
      ],
      split: [{ ...leading('c'), target: 'http://localhost:8081/K7RM2X9D' }, leading('d')],
      fallbackUrl: 'menu',
    },
    {
      invalid_url: ['rules.0.then.target', 'fallbackUrl'],
      credentials: ['rules.1.then.split.1.target'],
      own_host: ['split.0.target'],
    },
  ],
  [
    'a fallback to the short links',
    { fallbackUrl: 'http://localhost:8081/x' },
    { own_host: ['fallbackUrl'] },
  ],
  [
    'targets too long with their utm',
    {
      target: long(2_040),
      utm: { source: 'quite' },
      rules: [ios('one', { then: { target: long(2_031) } })],
      split: [leading('short'), { ...leading('long'), target: long(2_040) }],
    },
    { too_long: ['target', 'split.1.target'] },
  ],
  [
    'a label that makes a target too long',
    {
      utm: { content: '{label}' },
      split: ['a', 'bb'].map((label) => ({ ...leading(label), target: long(2_034) })),
    },
    { too_long: ['split.1.target'] },
  ],
  [
    'unknown tokens',
    { utm: { source: '{slug}', medium: '{place}', campaign: '{campaign} {}', term: '{label}' } },
    { unknown_token: ['utm.medium', 'utm.campaign'] },
  ],
  [
    'a start that is not before the end',
    { startsAt: '2040-01-01T00:00:00Z', expiresAt: '2040-01-01T00:00:00Z' },
    { after_expiry: ['startsAt'] },
  ],
];

const routed = {
  rules: [ios('one')],
  split: [leading('a'), leading('b')],
  utm: { source: 'qr' },
  passQuery: true,
  startsAt: '2030-01-01T00:00:00Z',
  paused: true,
  fallbackUrl: otherTarget,
};
const statics: readonly Case[] = [
  ['every field', { dynamic: false, ...routed }, { dynamic_only: Object.keys(routed) }],
  [
    'of another type',
    { type: 'text', target: 'Hello', paused: true },
    { dynamic_only: ['paused'] },
  ],
];

test.each([...shapes, ...conditions, ...rules, ...statics])(
  'a new code with %s is refused',
  async (_, fields, expected) => {
    const answer = await client.post('/v1/qr-codes', { target, ...fields });
    expect([answer.status, answer.json.code]).toEqual([422, 'validation_failed']);
    expect(faultsOf(answer)).toEqual(linesOf(expected));
    for (const { message } of answer.faults) {
      expect(message).not.toMatch(/Invalid input|undefined/);
    }
  },
);

test.each([...shapes, ...conditions, ...rules])(
  'a change and a replacement with %s are refused, and nothing changes',
  async (_, fields, expected) => {
    const made = await makeCode();
    const path = `/v1/qr-codes/${word(made.id)}`;
    const body = { target, ...fields };
    for (const answer of [await client.patch(path, body), await client.put(path, body)]) {
      expect([answer.status, faultsOf(answer)]).toEqual([422, linesOf(expected)]);
    }
    expect((await client.get(path)).json).toEqual(made);
  },
);

test('a part of the wrong kind hides no fault of another part', async () => {
  const body = {
    target: 'nowhere',
    tags: 'menu',
    rules: [7, { label: 'a', if: 7, then: 7 }, ios('target')],
    split: [null, leading('a')],
    utm: { source: '{x}', medium: {} },
    startsAt: '2040-01-02T00:00:00Z',
    expiresAt: '2040-01-01T00:00:00Z',
    fallbackUrl: '//example.com',
  };
  const ofParts = ['rules.0', 'rules.1.if', 'rules.1.then', 'split.0', 'utm.medium'];
  const expected = linesOf({
    invalid_url: ['target', 'fallbackUrl'],
    wrong_type: ['tags', ...ofParts],
    reserved: ['rules.2.label'],
    duplicate: ['split.1.label'],
    unknown_token: ['utm.source'],
    after_expiry: ['startsAt'],
  });
  expect(faultsOf(await client.post('/v1/qr-codes', body))).toEqual(expected);
  const path = `/v1/qr-codes/${word((await makeCode()).id)}`;
  expect(faultsOf(await client.patch(path, body))).toEqual(expected);
  const text = { type: 'text', target: 'Hi', name: 7, expiresAt: '2040-01-01T00:00:00Z' };
  const faults = ['dynamic_only expiresAt', 'wrong_type name'];
  expect(faultsOf(await client.post('/v1/qr-codes', text))).toEqual(faults);
});

test('what is stored counts too: a change sees the end, the target and the labels that stay', async () => {
  const fields = { target: long(2_040), startsAt: '2030-01-01T00:00:00Z', rules: [ios('a')] };
  const path = `/v1/qr-codes/${word((await makeCode(fields)).id)}`;
  const body = {
    expiresAt: '2029-01-01T00:00:00Z',
    utm: { source: 'qr' },
    split: [leading('a'), leading('b')],
  };
  const faults = ['after_expiry startsAt', 'duplicate split.0.label', 'too_long target'];
  expect(faultsOf(await client.patch(path, body))).toEqual(faults);
});

test('the name of the campaign is part of a target’s length', async () => {
  const draft = { name: 'n'.repeat(60), startDate: '2026-03-04', qrCodeIds: [] };
  const campaignIds = [word((await client.post('/v1/campaigns', draft)).json.id)];
  const body = { target: long(2_000), utm: { campaign: '{campaign}' } };
  const path = `/v1/qr-codes/${word((await makeCode(body)).id)}`;
  for (const refused of [
    await client.post('/v1/qr-codes', { ...body, campaignIds }),
    await client.patch(path, { campaignIds }),
  ]) {
    expect(faultsOf(refused)).toEqual(['too_long target']);
  }
});

test('a static code takes the defaults, and nothing else, in a change too', async () => {
  const defaults = {
    rules: [],
    split: null,
    utm: { source: null },
    passQuery: false,
    startsAt: null,
    paused: false,
    fallbackUrl: null,
  };
  const path = `/v1/qr-codes/${word((await makeCode({ dynamic: false, ...defaults })).id)}`;
  expect((await client.patch(path, defaults)).status).toBe(200);
  expect((await client.put(path, { target, ...defaults })).status).toBe(200);
  const refused = await client.patch(path, { paused: true, utm: { term: 'x' }, name: 7 });
  const faults = ['dynamic_only paused', 'dynamic_only utm', 'wrong_type name'];
  expect(faultsOf(refused)).toEqual(faults);
});
