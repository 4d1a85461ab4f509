/** Programs lead where the record says: against the plainest interpreter, over random rules and scans. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { targetLabel } from '../../src/model/routing/labels.ts';
import type {
  RouteConditions,
  RouteRule,
  RouteVariant,
  Routing,
} from '../../src/model/routing/routing.ts';
import { weekdays } from '../../src/model/day.ts';
import { Browser, countryNumber, Device, Os } from '../../src/model/scan.ts';
import { compileLink } from '../../src/routes/compile.ts';
import { programBytesMax, programWords, programZones } from '../../src/routes/program-layout.ts';
import { ProgramReader } from '../../src/routes/program-reader.ts';
import { localMinutes } from '../../src/model/zones/calendar.ts';
import { routingOf as routingWith } from '../links/routed.ts';
import { naiveRoute, type NaiveScan } from './naive.ts';
import { runs } from '../seconds/runs.ts';

const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
const someOf = <T>(values: readonly T[]): fc.Arbitrary<T[]> =>
  fc.subarray([...values], { minLength: 1 });
const names = <Name extends string>(words: Readonly<Record<Name, number>>): Name[] =>
  Object.keys(words).filter((name): name is Name => Object.hasOwn(words, name));
const clock = fc
  .nat({ max: 1_439 })
  .map(
    (at) => `${String(Math.floor(at / 60)).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`,
  );
/** Around changes of the clocks, and any time. */
const moment = fc.oneof(
  fc.integer({ min: Date.UTC(2026, 2, 28), max: Date.UTC(2026, 2, 30) }),
  fc.integer({ min: Date.UTC(2026, 9, 31), max: Date.UTC(2026, 10, 2) }),
  fc.integer({ min: Date.UTC(1970, 0, 2), max: Date.UTC(2099, 0, 1) }),
);
const queryName = fc.constantFrom('table', 'a', 'größe', '__proto__');
const queryValue = fc.constantFrom('1', '12', '', '☕', '*');
const tags = fc.constantFrom('de', 'de-at', 'pt-br', 'en', 'pt', 'zh-hant-tw');

const conditions: fc.Arbitrary<RouteConditions> = fc
  .record(
    {
      device: someOf(names(Device)),
      os: someOf(names(Os)),
      browser: someOf(names(Browser)),
      country: someOf(['DE', 'AT', 'ZZ', 'US', 'JP']),
      language: fc.uniqueArray(
        tags.map((tag) => tag.toUpperCase()),
        { minLength: 1, maxLength: 3 },
      ),
      time: fc
        .record(
          { days: someOf(weekdays), from: clock, to: clock, timezone: fc.constantFrom(...zones) },
          { requiredKeys: ['from', 'timezone'] },
        )
        .filter(({ from, to }) => from !== (to ?? '24:00')),
      date: fc.record(
        {
          from: moment.map((ms) => new Date(ms).toISOString()),
          to: moment.map((ms) => new Date(ms).toISOString()),
        },
        { requiredKeys: [] },
      ),
      query: fc.dictionary(queryName, queryValue, { minKeys: 1, maxKeys: 2 }),
    },
    { requiredKeys: [] },
  )
  .filter((one) => Object.keys(one).length > 0);

const address = fc
  .tuple(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 60 }))
  .map(([host, length]) => `https://${host}.example/${'p'.repeat(length)}`);
const weights = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 4 });

interface Draft {
  readonly if: RouteConditions;
  readonly then: { readonly target: string } | { readonly weights: readonly number[] };
}
const draft: fc.Arbitrary<Draft> = fc.record({
  if: conditions,
  then: fc.oneof(fc.record({ target: address }), fc.record({ weights })),
});

function splitOf(name: string, shares: readonly number[]): RouteVariant[] {
  return shares.map((weight, at) => ({
    label: `${name}-${at}`,
    target: `https://split.example/${name}/${at}`,
    weight,
  }));
}

/** With numbers for its labels; the first was given before and is unused now. */
function routingOf(drafts: readonly Draft[], shares: readonly number[] | undefined): Routing {
  const rules: RouteRule[] = drafts.map(({ if: when, then }, at) => ({
    label: `rule-${at}`,
    if: when,
    then: 'target' in then ? then : { split: splitOf(`rule-${at}`, then.weights) },
  }));
  const split = shares && splitOf('all', shares);
  const routing = routingWith({ rules, ...(split && { split }), passQuery: true });
  const seed = Buffer.alloc(16, 3).toString('base64url');
  return { ...routing, labels: [{ name: 'before', unusedSinceMs: 1 }, ...routing.labels], seed };
}

const routing = fc
  .tuple(fc.array(draft, { maxLength: 5 }), fc.option(weights, { nil: undefined }))
  .map(([drafts, split]) => routingOf(drafts, split));

const scan: fc.Arbitrary<NaiveScan> = fc.record({
  nowMs: moment,
  device: fc.constantFrom(...names(Device)),
  os: fc.constantFrom(...names(Os)),
  browser: fc.constantFrom(...names(Browser)),
  country: fc.constantFrom('DE', 'AT', 'ZZ', 'US', 'JP', 'FR'),
  language: fc.oneof(tags, fc.constantFrom('', 'd', 'dee', 'de-at-1996')),
  query: fc.array(fc.tuple(queryName, queryValue), { maxLength: 3 }),
  point: fc.nat({ max: 2 ** 32 - 1 }),
});

const target = 'https://example.com/menu';

/** The program as it is stored, moved to another place in memory. */
function follow(routed: Routing, asked: NaiveScan) {
  const compiled = compileLink({ target, shortCode: 'ABC', routing: routed });
  const program = programWords(compiled.program!);
  const zoneList = programZones(program);
  for (const [index, { word }] of zoneList.entries()) program[word] = index;
  const at = 77;
  const words = new Int32Array(at + program.length);
  words.set(program, at);
  const reader = new ProgramReader();
  reader.open(words, at);
  reader.follow({
    nowMs: asked.nowMs,
    device: Device[asked.device as keyof typeof Device],
    os: Os[asked.os as keyof typeof Os],
    browser: Browser[asked.browser as keyof typeof Browser],
    country: countryNumber(asked.country),
    language: asked.language,
    query: asked.query.flat(),
    localMinutes: (zone) => localMinutes(zoneList[zone]!.name, asked.nowMs),
    splitPoint: (_words, seed) => {
      expect([...words.subarray(seed, seed + 4)]).toEqual(Array(4).fill(0x03030303));
      return asked.point;
    },
  });
  const name = reader.route === 0 ? targetLabel : routed.labels[reader.route - 1]?.name;
  return {
    label: name,
    target: reader.target === 0 ? compiled.target : textAt(words, reader.target),
  };
}

const textAt = (words: Int32Array, at: number): string =>
  Buffer.from(words.buffer, (at + 1) * 4, words[at]).toString('latin1');

describe('a program', () => {
  it('leads where the plainest interpreter leads', () => {
    const property = fc.property(
      routing,
      fc.array(scan, { minLength: 1, maxLength: 5 }),
      (routed, scans) => {
        for (const asked of scans) {
          const { label, target: to } = naiveRoute({ target, routing: routed }, asked);
          expect(follow(routed, asked)).toEqual({ label, target: to });
        }
      },
    );
    fc.assert(property, { numRuns: runs(600) });
  });

  it('says what keeps a code from redirecting', () => {
    const at = 2 ** 33 + 5;
    const paused = { ...routingOf([], undefined), paused: true, startsAtMs: at };
    const withFallback = { ...paused, fallbackUrl: 'https://example.com/later' };
    const bytes = Buffer.from(compileLink({ target, routing: withFallback }).program!);
    const reader = new ProgramReader();
    const words = programWords(bytes);
    reader.open(words, 0);
    expect([reader.isPaused, reader.passesQuery, reader.startsAtMs]).toEqual([true, true, at]);
    expect(textAt(words, reader.fallback)).toBe('https://example.com/later');
  });

  it('is not made where only UTM parameters are set, or a label is left', () => {
    const plain = { ...routingOf([], undefined), passQuery: false };
    const tagged = { ...plain, utm: { source: 'print', campaign: '{campaign}-{slug}-{label}' } };
    expect(compileLink({ target, routing: plain })).toEqual({ target });
    expect(
      compileLink({ target, shortCode: 'ABC', routing: { ...tagged, campaign: 'Été' } }),
    ).toEqual({
      target: `${target}?utm_source=print&utm_campaign=%C3%89t%C3%A9-ABC-target`,
    });
  });

  it('has a bound that the fields of a code keep', () => {
    const each = <T>(count: number, make: (at: number) => T): T[] =>
      Array.from({ length: count }, (_, at) => make(at));
    const long = (no: number): string => `https://example.com/${no}`.padEnd(2_048, 'x');
    const conditionsOf = (rule: number): RouteConditions => ({
      device: names(Device),
      browser: names(Browser),
      country: each(60, (at) => `A${String.fromCharCode(65 + (at % 26))}`),
      language: each(20, (at) => `abcdefgh-abcdefgh-abcdefgh-abcd${rule + 10}${at + 10}`),
      time: { from: '10:00', timezone: 'America/Argentina/ComodRivadavia' },
      query: Object.fromEntries(
        each(5, (at) => [`${rule}-${at}`.padEnd(40, '☕'), `${rule}-${at}`.padEnd(120, '☕')]),
      ),
    });
    const rules = each(20, (at) => ({
      label: `rule-${at}`,
      if: conditionsOf(at),
      then: { target: long(at) },
    }));
    const split = each(8, (at) => ({ label: `s-${at}`, target: long(20 + at), weight: 1 }));
    const labels = [...rules, ...split].map(({ label }) => ({ name: label }));
    const routed = { ...routingOf([], undefined), rules, split, labels, fallbackUrl: long(99) };
    const { program } = compileLink({ target, routing: routed });
    expect(program!.length).toBeGreaterThan(programBytesMax * 0.8);
    expect(program!.length).toBeLessThanOrEqual(programBytesMax);
  });
});
