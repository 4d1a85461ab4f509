/** Routes with something wrong: what, the fields, and each fault by its path. Codes and paths are what clients go by. */
export const target = 'https://example.com/menu';
export const otherTarget = 'https://example.com/other';
export const leading = (label: string) => ({ label, target: otherTarget, weight: 1 });
export const rule = (conditions: object, more: object = {}) => ({
  label: 'one',
  if: conditions,
  then: { target: otherTarget },
  ...more,
});
const when = (conditions: object) => ({ rules: [rule(conditions)] });
const atTime = (window: object) => when({ time: { timezone: 'Europe/Berlin', ...window } });
export const long = (length: number) => `https://example.com/${'a'.repeat(length - 20)}`;
const numbered = (count: number, one: (at: number) => unknown) =>
  Array.from({ length: count }, (_, at) => one(at));
const splitRules = (rules: number, variants: number) =>
  numbered(rules, (at) => ({
    label: `r${at}`,
    if: { os: ['iOS'] },
    then: { split: numbered(variants, (variant) => leading(`r${at}-${variant}`)) },
  }));

type Case = readonly [what: string, fields: object, faults: Readonly<Record<string, string>>];

export const shapes: readonly Case[] = [
  ['no list', { rules: {} }, { rules: 'wrong_type' }],
  [
    '21 rules',
    { rules: numbered(21, (at) => rule({ os: ['iOS'] }, { label: `r${at}` })) },
    { rules: 'too_big' },
  ],
  [
    'an empty rule',
    { rules: [{}] },
    { 'rules.0.label': 'required', 'rules.0.if': 'required', 'rules.0.then': 'required' },
  ],
  [
    'an unknown field',
    { rules: [rule({ os: ['iOS'] }, { els: 1 })] },
    { 'rules.0.els': 'unknown_field' },
  ],
  [
    'a label in capitals',
    { rules: [rule({ os: ['iOS'] }, { label: 'One' })] },
    { 'rules.0.label': 'invalid_format' },
  ],
  [
    'a label of 41',
    { split: [leading('a'.repeat(41)), leading('b')] },
    { 'split.0.label': 'invalid_format' },
  ],
  [
    'nowhere to go',
    { rules: [rule({ os: ['iOS'] }, { then: {} })] },
    { 'rules.0.then': 'required' },
  ],
  [
    'two ways to go',
    { rules: [rule({ os: ['iOS'] }, { then: { target, split: [leading('a'), leading('b')] } })] },
    { 'rules.0.then': 'goes_alone' },
  ],
  ['a split of one', { split: [leading('a')] }, { split: 'too_small' }],
  ['a split of nine', { split: numbered(9, (at) => leading(`v${at}`)) }, { split: 'too_big' }],
  [
    'weights out of bounds',
    {
      split: [
        { ...leading('a'), weight: 0 },
        { ...leading('b'), weight: 1_001 },
        { ...leading('c'), weight: 1.5 },
      ],
    },
    { 'split.0.weight': 'too_small', 'split.1.weight': 'too_big', 'split.2.weight': 'wrong_type' },
  ],
  [
    'other kinds',
    { passQuery: 'yes', paused: 1, fallbackUrl: 7, utm: 'qr', startsAt: 'soon' },
    {
      passQuery: 'wrong_type',
      paused: 'wrong_type',
      fallbackUrl: 'wrong_type',
      utm: 'wrong_type',
      startsAt: 'invalid_format',
    },
  ],
  ['a time before 1970', { startsAt: '1969-12-31T23:59:59Z' }, { startsAt: 'out_of_range' }],
  [
    'unknown and long utm',
    { utm: { sauce: 'qr', medium: 'm'.repeat(121), term: '' } },
    { 'utm.sauce': 'unknown_field', 'utm.medium': 'too_big', 'utm.term': 'too_small' },
  ],
];

export const conditions: readonly Case[] = [
  ['no condition', when({}), { 'rules.0.if': 'required' }],
  ['an unknown condition', when({ colour: ['red'] }), { 'rules.0.if.colour': 'unknown_field' }],
  [
    'seven conditions',
    when({
      device: ['mobile'],
      os: ['iOS'],
      browser: ['Safari'],
      country: ['DE'],
      language: ['de'],
      date: { from: '2027-01-01T00:00:00Z' },
      query: { a: '*' },
    }),
    { 'rules.0.if': 'too_many' },
  ],
  [
    'lists without a value',
    when({ device: [], country: [], language: [] }),
    {
      'rules.0.if.device': 'too_small',
      'rules.0.if.country': 'too_small',
      'rules.0.if.language': 'too_small',
    },
  ],
  [
    'unknown words',
    when({ device: ['phone'], os: ['ios'], browser: ['Safari', 'Netscape'] }),
    {
      'rules.0.if.device.0': 'not_allowed',
      'rules.0.if.os.0': 'not_allowed',
      'rules.0.if.browser.1': 'not_allowed',
    },
  ],
  [
    'no countries',
    when({ country: ['de', 'EU', 'UK', 'XX', 'DEU', 'ZZ'] }),
    {
      'rules.0.if.country.0': 'not_allowed',
      'rules.0.if.country.1': 'not_allowed',
      'rules.0.if.country.2': 'not_allowed',
      'rules.0.if.country.3': 'not_allowed',
      'rules.0.if.country.4': 'not_allowed',
    },
  ],
  [
    '61 countries',
    when({ country: numbered(61, () => 'DE') }),
    { 'rules.0.if.country': 'too_big' },
  ],
  [
    'no languages',
    when({ language: ['*', 'd', 'de_AT', 'de-', 'pt-BR'] }),
    {
      'rules.0.if.language.0': 'invalid_format',
      'rules.0.if.language.1': 'invalid_format',
      'rules.0.if.language.2': 'invalid_format',
      'rules.0.if.language.3': 'invalid_format',
    },
  ],
  [
    '21 languages',
    when({ language: numbered(21, () => 'de') }),
    { 'rules.0.if.language': 'too_big' },
  ],
  ['no zone', when({ time: { from: '09:00' } }), { 'rules.0.if.time.timezone': 'required' }],
  [
    'zones that are none',
    {
      rules: ['Mars/Olympus', '+01:00', '', 'Europe/Berlin '].map((timezone, at) =>
        rule({ time: { timezone, from: '09:00' } }, { label: `z${at}` }),
      ),
    },
    {
      'rules.0.if.time.timezone': 'unknown_timezone',
      'rules.1.if.time.timezone': 'unknown_timezone',
      'rules.2.if.time.timezone': 'unknown_timezone',
      'rules.3.if.time.timezone': 'unknown_timezone',
    },
  ],
  ['a zone alone', atTime({}), { 'rules.0.if.time': 'required' }],
  [
    'times that no clock shows',
    atTime({ from: '24:00', to: '9:00' }),
    { 'rules.0.if.time.from': 'invalid_format', 'rules.0.if.time.to': 'invalid_format' },
  ],
  [
    'an empty window',
    atTime({ from: '09:00', to: '09:00' }),
    { 'rules.0.if.time.to': 'empty_window' },
  ],
  [
    'an empty window from midnight',
    atTime({ to: '00:00' }),
    { 'rules.0.if.time.to': 'empty_window' },
  ],
  ['no days', atTime({ days: [] }), { 'rules.0.if.time.days': 'too_small' }],
  ['an unknown day', atTime({ days: ['mon', 'Tue'] }), { 'rules.0.if.time.days.1': 'not_allowed' }],
  ['no date', when({ date: {} }), { 'rules.0.if.date': 'required' }],
  [
    'a day in place of a time',
    when({ date: { from: '2027-01-01' } }),
    { 'rules.0.if.date.from': 'invalid_format' },
  ],
  [
    'dates that run backwards',
    when({ date: { from: '2027-01-01T00:00:00Z', to: '2027-01-01T01:00:00+01:00' } }),
    { 'rules.0.if.date.to': 'empty_window' },
  ],
  ['no parameters', when({ query: {} }), { 'rules.0.if.query': 'required' }],
  [
    'six parameters',
    when({ query: Object.fromEntries(numbered(6, (at) => [`p${at}`, '*']) as [string, string][]) }),
    { 'rules.0.if.query': 'too_many' },
  ],
  [
    'parameters out of bounds',
    when({
      query: { ['n'.repeat(41)]: '*', long: 'v'.repeat(121), kind: 7, hidden: '\u200b' },
    }),
    {
      [`rules.0.if.query.${'n'.repeat(41)}`]: 'too_big',
      'rules.0.if.query.long': 'too_big',
      'rules.0.if.query.kind': 'wrong_type',
      'rules.0.if.query.hidden': 'invalid_characters',
    },
  ],
];

export const rules: readonly Case[] = [
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
