/** What the rules of another tool's link become: bodies of single creates, as the tool would have led its visitors. */
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { vendorCode } from '../../../src/product/codes/bulk/vendor-exports.ts';
import { openImportSource } from '../../../src/operations/import/source.ts';
import { Failure } from '../../../src/model/failure.ts';
import { labelPattern, reservedLabels } from '../../../src/model/routing/labels.ts';
import type { RouteRule } from '../../../src/model/routing/routing.ts';

/** When the exports are read. */
const nowMs = Date.parse('2026-12-01T00:00:00Z');

async function sourceOf(name: string) {
  const file = fileURLToPath(new URL(`../../fixtures/exports/${name}`, import.meta.url));
  return await openImportSource(file, 'auto', nowMs);
}

async function rowsOf(name: string) {
  const rows: unknown[] = [];
  for await (const { values } of (await sourceOf(name)).rows(() => undefined)) {
    rows.push(...values.map(bodyOrFaults));
  }
  return rows;
}

/** The body, or all that is wrong with the row. */
const dub = (row: Record<string, unknown>): unknown =>
  bodyOf('dub', { url: 'https://e.co', key: 'a', ...row });
const shlink = (row: Record<string, unknown>): unknown =>
  bodyOf('shlink', { longUrl: 'https://e.co', shortCode: 'a', ...row });

function bodyOf(format: 'dub' | 'shlink', row: Record<string, unknown>): unknown {
  const [value] = vendorCode(format, row, nowMs).values;
  return bodyOrFaults(value);
}

/** The body of a create, or a line for each fault: `path code: message`. */
const bodyOrFaults = (value: unknown): unknown =>
  value instanceof Failure
    ? value.faults.map(({ path, code, message }) => `${path} ${code}: ${message}`)
    : value;

/** The rules of a body, a line each: `label if conditions: where it leads`. */
const rulesOf = (body: unknown): string[] =>
  (Reflect.get(Object(body), 'rules') as RouteRule[]).map(({ label, if: conditions, then }) => {
    const leads =
      'split' in then ? then.split.map((one) => `${one.weight} ${one.target}`) : then.target;
    return `${label} if ${JSON.stringify(conditions)}: ${[leads].flat().join(', ')}`;
  });

const rule = (
  longUrl: string,
  ...conditions: ReadonlyArray<readonly [string, unknown, unknown?]>
) => ({
  longUrl,
  conditions: conditions.map(([type, matchValue, matchKey = null]) => ({
    type,
    matchKey,
    matchValue,
  })),
});

describe('Dub', () => {
  it('leads by system, then country, then test, and to the other url once it has expired', async () => {
    const [app] = await rowsOf('dub.json');
    expect(app).toEqual({
      target: 'https://example.com/app?utm_source=poster',
      slug: 'our-app',
      name: 'The app',
      tags: ['print'],
      expiresAt: '2031-01-01T00:00:00.000Z',
      fallbackUrl: 'https://example.com/over',
      rules: expect.any(Array),
      metadata: {
        import: {
          from: 'dub',
          shortUrl: 'https://go.example.org/our-app',
          createdAt: '2025-05-06T07:08:09.000Z',
          clicks: 12,
        },
      },
    });
    expect(rulesOf(app)).toEqual([
      'ios if {"os":["iOS"]}: https://apps.apple.com/app/id1234567890',
      'android if {"os":["Android"]}: https://play.google.com/store/apps/details?id=org.example.app',
      'de-at if {"country":["DE","AT"]}: https://example.com/de/app',
      'fr if {"country":["FR"]}: https://example.com/fr/app',
      'test if {"date":{"to":"2027-01-01T00:00:00.000Z"}}: 333 https://example.com/app?utm_source=poster, 667 https://example.com/app-b',
    ]);
  });

  it('a disabled link is paused; what had no effect there has none here; a password is refused', async () => {
    const [, over, secret] = await rowsOf('dub.json');
    expect(over).toMatchObject({
      slug: 'over',
      target: 'https://example.com/winner',
      paused: true,
    });
    expect(over).not.toHaveProperty('rules');
    expect(over).not.toHaveProperty('fallbackUrl');
    expect(secret).toEqual([expect.stringContaining(' password: ')]);
  });

  it('countries that share a url are one rule, of at most 60 of them', () => {
    const letters = 'ABCDEFGHIJ'.split('');
    const countries = letters.flatMap((one) => letters.map((other) => one + other));
    const geo = Object.fromEntries(countries.map((country) => [country, 'https://e.co/all']));
    expect(dub({ geo })).toMatchObject({
      rules: [
        { label: 'aa-and-59-more', if: { country: countries.slice(0, 60) } },
        { label: 'ga-and-39-more', if: { country: countries.slice(60) } },
      ],
    });
    // As a table that was made of the API's answer has it.
    expect(dub({ geo: '{"ch":"https://e.co/ch"}' })).toMatchObject({
      rules: [{ label: 'ch', if: { country: ['CH'] }, then: { target: 'https://e.co/ch' } }],
    });
  });

  it('all that is wrong is said at once', () => {
    const geo = Object.fromEntries(
      'ABCDEFGHIJKLMNOPQRSTU'.split('').map((letter) => [`A${letter}`, `https://e.co/${letter}`]),
    );
    const testCompletedAt = '2027-01-01T00:00:00.000Z';
    const testVariants = [{ url: 'https://e.co/b', percentage: 100 }];
    expect(dub({ geo, password: 'x', testVariants, testCompletedAt })).toEqual([
      expect.stringMatching(/^ password: .*has a password/),
      expect.stringMatching(/^testVariants invalid_format: /),
      'rules too_many: The link has 21 rules, a QR code takes at most 20',
    ]);
    for (const [row, start] of [
      [{ geo: 'DE: https://e.co' }, 'geo wrong_type:'],
      [{ testVariants, testCompletedAt: 'soon' }, 'testCompletedAt invalid_format:'],
      [{ geo: { DE: null } }, 'geo.DE required:'],
    ] as const) {
      expect(dub(row)).toEqual([expect.stringContaining(start)]);
    }
  });

  it.each([
    { key: '_root', domain: 'go.e.co' },
    { key: undefined, 'Short link': 'https://go.e.co/_root' },
  ])('the root of a domain is no code: %o', (row) => {
    expect(dub(row)).toEqual([expect.stringMatching(/^slug domain_root: .*redirect.rootUrl/)]);
  });

  it('a table, which has none of it, is announced as such', async () => {
    expect((await sourceOf('dub.csv')).notices[0]).toMatch(/rules, expiry and passwords/);
    expect((await sourceOf('dub.json')).notices).toEqual([]);
    expect((await sourceOf('shlink-web.csv')).notices[0]).toMatch(/rules, dates and visit limits/);
    expect((await sourceOf('bitly.csv')).notices).toEqual([]);
  });
});

describe('Shlink', () => {
  it('rules are tried by priority, all conditions of one must hold', async () => {
    const [app] = await rowsOf('shlink-rules.ndjson');
    expect(app).toMatchObject({
      target: 'https://example.com/app',
      startsAt: '2026-01-04T23:00:00.000Z',
      passQuery: true,
    });
    expect(rulesOf(app)).toEqual([
      'android-en-us if {"os":["Android"],"language":["en-US"]}: https://example.com/android-en-us',
      'fr if {"language":["fr"]}: https://example.com/fr',
      'from-fair-stand-before-2089-12-31 if {"query":{"from":"fair","stand":"*"},"date":{"to":"2089-12-31T23:00:00.000Z"}}: https://example.com/fair',
    ]);
  });

  it('rules that are missing, and those a code cannot follow, are refused by name', async () => {
    const [, lost, intern] = await rowsOf('shlink-rules.ndjson');
    expect(lost).toEqual([
      expect.stringMatching(/^redirectRules rules_missing: .*does not include them/),
    ]);
    const unsupported = (at: string, message: string): unknown =>
      expect.stringMatching(`^redirectRules.${at} rule_unsupported: .*${message}`);
    expect(intern).toEqual([
      unsupported('0.conditions.0', 'A QR code has no rules by IP address \\(192.0.2.0/24\\)$'),
    ]);
    const redirectRules = [
      rule('https://e.co/1', ['geolocation-city-name', 'Berlin'], ['browser', 'android_browser']),
      rule('https://e.co/2', ['language', 'de'], ['language', 'fr']),
      rule('https://e.co/3', ['query-param', '*', 'x'], ['moon-phase', 'full'], ['language', null]),
      { conditions: 'none' },
    ];
    expect(shlink({ redirectRules })).toEqual([
      unsupported('0.conditions.0', 'city \\(Berlin\\)'),
      unsupported('0.conditions.1', 'android_browser'),
      unsupported('1.conditions', '\\(de, fr\\)'),
      unsupported('2.conditions.0', ''),
      unsupported('2.conditions.1', 'moon-phase \\(full\\)'),
      expect.stringMatching(/^redirectRules.2.conditions.2 invalid_format: /),
      expect.stringMatching(/^redirectRules.3.longUrl required: /),
      expect.stringMatching(/^redirectRules.3.conditions wrong_type: /),
    ]);
    for (const [row, code] of [
      [{ redirectRules: 'see the web client' }, 'wrong_type'],
      [{ hasRedirectRules: true, redirectRules: [] }, 'rules_missing'],
    ] as const) {
      expect(shlink(row)).toEqual([expect.stringContaining(` ${code}: `)]);
    }
  });

  it.each([
    ['device', 'mobile', { os: ['iOS', 'Android'] }],
    ['device', 'desktop', { os: ['Windows', 'macOS', 'Linux', 'ChromeOS'] }],
    ['device', 'chromeos', { os: ['ChromeOS'] }],
    ['browser', 'edge', { browser: ['Edge'] }],
    ['language', 'pt_BR', { language: ['pt-BR'] }],
    ['geolocation-country-code', 'de', { country: ['DE'] }],
    ['after-date', '2026-05-01T00:00:00+02:00', { date: { from: '2026-04-30T22:00:00.000Z' } }],
  ])('%s %s', (type, value, conditions) => {
    expect(shlink({ redirectRules: [rule('https://e.co/x', [type, value])] })).toMatchObject({
      rules: [{ if: conditions, then: { target: 'https://e.co/x' } }],
    });
  });

  it('conditions of one kind narrow each other; a rule that can never hold is left out', () => {
    const written = [
      rule('https://e.co/1', ['device', 'mobile'], ['device', 'ios'], ['device', 'ios']),
      rule('https://e.co/2', ['any-value-query-param', null, 'x'], ['query-param', '1', 'x']),
      rule('https://e.co/3', ['valueless-query-param', null, '__proto__']),
      rule(
        'https://e.co/4',
        ['after-date', '2026-01-01T00:00:00Z'],
        ['after-date', '2026-02-01T00:00:00Z'],
        ['before-date', '2026-04-01T00:00:00Z'],
        ['before-date', '2026-03-01T00:00:00Z'],
      ),
      rule('https://e.co/none'),
      rule(
        'https://e.co/none',
        ['geolocation-country-code', 'DE'],
        ['geolocation-country-code', 'FR'],
      ),
      rule('https://e.co/none', ['query-param', '1', 'x'], ['query-param', '2', 'x']),
      rule('https://e.co/none', ['before-date', '2026-01-01'], ['after-date', '2026-01-02']),
    ];
    // The whole answer of the call that lists them is taken too.
    const redirectRules = { defaultLongUrl: 'https://e.co', redirectRules: written };
    const query = Object.fromEntries([['__proto__', '']]);
    expect(shlink({ hasRedirectRules: true, redirectRules })).toMatchObject({
      rules: [
        { label: 'mobile-ios', if: { os: ['iOS'] } },
        { label: 'x-1', if: { query: { x: '1' } } },
        { label: 'proto', if: { query } },
        {
          if: { date: { from: '2026-02-01T00:00:00.000Z', to: '2026-03-01T00:00:00.000Z' } },
        },
      ],
    });
  });

  it('a link of version 3 has a url for each device', () => {
    const deviceLongUrls = { android: 'https://e.co/a', ios: null, desktop: 'https://e.co/d' };
    expect(shlink({ deviceLongUrls })).toMatchObject({
      rules: [
        { label: 'android', then: { target: 'https://e.co/a' } },
        { label: 'desktop', then: { target: 'https://e.co/d' } },
      ],
    });
  });

  it('a link whose visits are used up has ended, whenever it was to begin', () => {
    const body = shlink({
      meta: { validSince: '2026-01-01T00:00:00Z', validUntil: null, maxVisits: 3 },
      visitsSummary: { total: 3 },
    });
    expect(body).toMatchObject({ expiresAt: '1970-01-01T00:00:00.000Z' });
    expect(body).not.toHaveProperty('startsAt');
    expect(body).not.toHaveProperty('scanLimit');
    expect(shlink({ meta: { validSince: 'soon' } })).toMatchObject({ startsAt: 'soon' });
    expect(shlink({ forwardQuery: false })).not.toHaveProperty('passQuery');
  });
});

it('labels are sound and unique whatever the rules are about', () => {
  const value = fc.oneof(
    fc.constantFrom('target', 'used_up', 'de', 'DE', 'variant-1'),
    fc.string(),
  );
  const condition = fc.tuple(fc.constantFrom('language', 'geolocation-country-code'), value);
  fc.assert(
    fc.property(fc.array(condition, { maxLength: 20 }), (conditions) => {
      const redirectRules = conditions.map((one) => rule('https://e.co/x', one));
      const [body] = vendorCode('shlink', { shortCode: 'a', redirectRules }, nowMs).values;
      if (body === undefined || body instanceof Failure) return;
      const rules: unknown = Reflect.get(body, 'rules') ?? [];
      const labels = (Array.isArray(rules) ? rules : []).map((one) => String(one.label));
      expect(new Set(labels).size).toBe(conditions.length);
      for (const label of labels) {
        expect(label).toMatch(labelPattern);
        expect(reservedLabels).not.toContain(label);
      }
    }),
  );
});
