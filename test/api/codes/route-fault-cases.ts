/** Routes with something wrong: what, the fields, and each fault by its path. Codes and paths are what clients go by. */
export const target = 'https://example.com/menu';
const otherTarget = 'https://example.com/other';
export const leading = (label: string) => ({ label, target: otherTarget, weight: 1 });
export const rule = (conditions: object, more: object = {}) => ({
  label: 'one',
  if: conditions,
  then: { target: otherTarget },
  ...more,
});
export const long = (length: number) => `https://example.com/${'a'.repeat(length - 20)}`;
const numbered = <Of>(count: number, one: (at: number) => Of): Of[] =>
  Array.from({ length: count }, (_, at) => one(at));
const splitRules = (rules: number, variants: number) =>
  numbered(rules, (at) => ({
    label: `r${at}`,
    if: { os: ['iOS'] },
    then: { split: numbered(variants, (variant) => leading(`r${at}-${variant}`)) },
  }));

type Case = readonly [what: string, fields: object, faults: Readonly<Record<string, string>>];

/** A rule for each condition, with a label of its own. */
const rulesOf = (...conditions: readonly object[]) => ({
  rules: conditions.map((one, at) => rule(one, { label: `r${at}` })),
});
const inZone = (window: object) => ({ time: { timezone: 'Europe/Berlin', ...window } });

export const shapes: readonly Case[] = [
  ['no list', { rules: {} }, { rules: 'wrong_type' }],
  [
    '21 rules',
    { rules: numbered(21, (at) => rule({ os: ['iOS'] }, { label: `r${at}` })) },
    { rules: 'too_big' },
  ],
  [
    'rules of another shape',
    {
      rules: [
        {},
        rule({ os: ['iOS'] }, { label: 'a', els: 1 }),
        rule({ os: ['iOS'] }, { label: 'One' }),
        rule({ os: ['iOS'] }, { label: 'b', then: {} }),
        rule(
          { os: ['iOS'] },
          { label: 'c', then: { target, split: [leading('d'), leading('e')] } },
        ),
      ],
    },
    {
      'rules.0.label': 'required',
      'rules.0.if': 'required',
      'rules.0.then': 'required',
      'rules.1.els': 'unknown_field',
      'rules.2.label': 'invalid_format',
      'rules.3.then': 'required',
      'rules.4.then': 'goes_alone',
    },
  ],
  ['a split of one', { split: [leading('a')] }, { split: 'too_small' }],
  ['a split of nine', { split: numbered(9, (at) => leading(`v${at}`)) }, { split: 'too_big' }],
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
      'split.0.weight': 'too_small',
      'split.1.weight': 'too_big',
      'split.2.weight': 'wrong_type',
      'split.3.label': 'invalid_format',
    },
  ],
  [
    'unknown and long utm, and a start before 1970',
    {
      utm: { sauce: 'qr', medium: 'm'.repeat(121), term: '' },
      startsAt: '1969-12-31T23:59:59Z',
    },
    {
      'utm.sauce': 'unknown_field',
      'utm.medium': 'too_big',
      'utm.term': 'too_small',
      startsAt: 'out_of_range',
    },
  ],
];

export const conditions: readonly Case[] = [
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
    {
      'rules.0.if': 'required',
      'rules.1.if.colour': 'unknown_field',
      'rules.2.if': 'too_many',
    },
  ],
  [
    'lists that are empty or long',
    rulesOf(
      { device: [], country: [], language: [] },
      { country: numbered(61, () => 'DE'), language: numbered(21, () => 'de') },
    ),
    {
      'rules.0.if.device': 'too_small',
      'rules.0.if.country': 'too_small',
      'rules.0.if.language': 'too_small',
      'rules.1.if.country': 'too_big',
      'rules.1.if.language': 'too_big',
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
      'rules.0.if.device.0': 'not_allowed',
      'rules.0.if.browser.1': 'not_allowed',
      'rules.0.if.country.0': 'not_allowed',
      'rules.0.if.country.1': 'not_allowed',
      'rules.0.if.country.2': 'not_allowed',
      'rules.0.if.country.3': 'not_allowed',
      'rules.0.if.language.0': 'invalid_format',
      'rules.0.if.language.1': 'invalid_format',
      'rules.0.if.language.2': 'invalid_format',
      'rules.0.if.language.3': 'invalid_format',
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
      'rules.0.if.time.timezone': 'required',
      'rules.1.if.time.timezone': 'unknown_timezone',
      'rules.2.if.time.timezone': 'unknown_timezone',
      'rules.3.if.time.timezone': 'unknown_timezone',
      'rules.4.if.time.timezone': 'unknown_timezone',
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
      'rules.0.if.time': 'required',
      'rules.1.if.time.from': 'invalid_format',
      'rules.1.if.time.to': 'invalid_format',
      'rules.2.if.time.to': 'empty_window',
      'rules.3.if.time.to': 'empty_window',
      'rules.4.if.time.days': 'too_small',
      'rules.5.if.time.days.1': 'not_allowed',
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
      'rules.0.if.date': 'required',
      'rules.1.if.date.from': 'invalid_format',
      'rules.2.if.date.to': 'empty_window',
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
      'rules.0.if.query': 'required',
      'rules.1.if.query': 'too_many',
      [`rules.2.if.query.${'n'.repeat(41)}`]: 'too_big',
      'rules.2.if.query.long': 'too_big',
      'rules.2.if.query.kind': 'wrong_type',
      'rules.2.if.query.hidden': 'invalid_characters',
    },
  ],
];

export const rules: readonly Case[] = [
  [
    'a parameter that objects have already',
    rulesOf({ query: JSON.parse('{"__proto__":"1","table":"2"}') }),
    { 'rules.0.if.query.__proto__': 'unknown_field' },
  ],
  [
    'reserved labels',
    {
      rules: [
        rule({ os: ['iOS'] }, { label: 'target' }),
        rule({ os: ['iOS'] }, { label: 'expired' }),
      ],
      split: [leading('paused'), leading('fine')],
    },
    { 'rules.0.label': 'reserved', 'rules.1.label': 'reserved', 'split.0.label': 'reserved' },
  ],
  [
    'labels twice',
    {
      rules: [
        rule({ os: ['iOS'] }, { label: 'a' }),
        rule({ os: ['iOS'] }, { label: 'b', then: { split: [leading('a'), leading('c')] } }),
      ],
      split: [leading('c'), leading('b')],
    },
    {
      'rules.1.then.split.0.label': 'duplicate',
      'split.0.label': 'duplicate',
      'split.1.label': 'duplicate',
    },
  ],
  [
    '29 targets',
    { rules: splitRules(4, 6), split: numbered(5, (at) => leading(`s${at}`)) },
    { 'split.4.target': 'too_many' },
  ],
  [
    'targets that are none',
    {
      rules: [
        rule({ os: ['iOS'] }, { then: { target: 'javascript:alert(1)' } }),
        rule(
          { os: ['iOS'] },
          {
            label: 'two',
            then: {
              split: [leading('a'), { ...leading('b'), target: 'https://u:p@example.com/' }],
            },
          },
        ),
      ],
      split: [{ ...leading('c'), target: 'http://localhost:8081/K7RM2X9D' }, leading('d')],
      fallbackUrl: 'menu',
    },
    {
      'rules.0.then.target': 'invalid_url',
      'rules.1.then.split.1.target': 'credentials',
      'split.0.target': 'own_host',
      fallbackUrl: 'invalid_url',
    },
  ],
  [
    'a fallback to the short links',
    { fallbackUrl: 'http://localhost:8081/x' },
    { fallbackUrl: 'own_host' },
  ],
  [
    'targets too long with their utm',
    {
      target: long(2_040),
      utm: { source: 'quite' },
      rules: [rule({ os: ['iOS'] }, { then: { target: long(2_031) } })],
      split: [leading('short'), { ...leading('long'), target: long(2_040) }],
    },
    { target: 'too_long', 'split.1.target': 'too_long' },
  ],
  [
    'a label that makes a target too long',
    {
      utm: { content: '{label}' },
      split: [
        { ...leading('a'), target: long(2_034) },
        { ...leading('bb'), target: long(2_034) },
      ],
    },
    { 'split.1.target': 'too_long' },
  ],
  [
    'unknown tokens',
    { utm: { source: '{slug}', medium: '{place}', campaign: '{campaign} {}', term: '{label}' } },
    { 'utm.medium': 'unknown_token', 'utm.campaign': 'unknown_token' },
  ],
  [
    'a start that is not before the end',
    { startsAt: '2040-01-01T00:00:00Z', expiresAt: '2040-01-01T00:00:00Z' },
    { startsAt: 'after_expiry' },
  ],
];

export const statics: readonly Case[] = [
  [
    'every field',
    {
      dynamic: false,
      rules: [rule({ os: ['iOS'] })],
      split: [leading('a'), leading('b')],
      utm: { source: 'qr' },
      passQuery: true,
      startsAt: '2030-01-01T00:00:00Z',
      paused: true,
      fallbackUrl: otherTarget,
    },
    {
      rules: 'dynamic_only',
      split: 'dynamic_only',
      utm: 'dynamic_only',
      passQuery: 'dynamic_only',
      startsAt: 'dynamic_only',
      paused: 'dynamic_only',
      fallbackUrl: 'dynamic_only',
    },
  ],
  ['of another type', { type: 'text', target: 'Hello', paused: true }, { paused: 'dynamic_only' }],
];
