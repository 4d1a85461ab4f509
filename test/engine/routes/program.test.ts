/** Programs lead where the record says: against the plainest interpreter, over random rules and scans. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { weekdays } from '../../../src/model/day.ts';
import { targetLabel } from '../../../src/model/routing/labels.ts';
import type {
  RouteConditions,
  RouteRule,
  RouteVariant,
  Routing,
} from '../../../src/model/routing/routing.ts';
import { Browser, countryNumber, Device, Os } from '../../../src/model/scan.ts';
import { localMinutes } from '../../../src/model/zones/calendar.ts';
import { compileLink } from '../../../src/engine/routes/compile.ts';
import {
  programBytesMax,
  programWords,
  programZones,
} from '../../../src/engine/routes/program-layout.ts';
import { ProgramReader, type RouteFacts } from '../../../src/engine/routes/program-reader.ts';
import { Agents } from '../../../src/engine/visitor/agents.ts';
import { splitPoint } from '../../../src/engine/visitor/visitor-id.ts';
import { programOf, routingOf as routingWith, variant } from '../links/routed.ts';
import { anybody } from '../links/table.ts';
import { runs } from '../../seconds/runs.ts';
import { naiveRoute, type NaiveScan } from './naive.ts';

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

const everyCondition = fc.record({
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
});
/** Few, so that they hold now and then. */
const conditions = everyCondition
  .chain((all) => fc.subarray(Object.entries(all), { minLength: 1, maxLength: 3 }))
  .map((some): RouteConditions => Object.fromEntries(some));

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

/** Splits deal visitors out by weight, keep each where it is, and move no more than a change of weights asks for. */

const visitors = 100_000;
const agents = new Agents();
const known = ['Safari', 'Chrome', 'Firefox'].map((text) => agents.get(text));

/** Each of another address, or of another agent behind the same one. */
const visitorOf = (no: number): RouteFacts => ({
  ...anybody,
  splitPoint(words, seed) {
    const address = Buffer.alloc(16).fill(255, 10, 12);
    address.writeUInt32BE(0x0900_0000 + Math.floor(no / 3), 12);
    return splitPoint(words, seed, address, known[no % 3]!.hashes);
  },
});

/** The route of each visitor. */
function deal(split: readonly RouteVariant[], count = visitors, seed?: string): Uint8Array {
  const program = programOf(seed === undefined ? { split } : { split, seed });
  const reader = new ProgramReader();
  reader.open(programWords(program!), 0);
  return Uint8Array.from({ length: count }, (_, no) => {
    reader.follow(visitorOf(no));
    return reader.route;
  });
}

const weighed = (weights: readonly number[]): RouteVariant[] =>
  weights.map((weight, no) => variant(`v${no}`, weight));
const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((total, one) => total + one, 0);

describe('a split', () => {
  test.each([[[1, 1]], [[1_000, 1]], [[70, 20, 10]], [[1, 2, 3, 4, 5, 6, 7, 8]]])(
    'of %j has shares within one in a hundred of all visitors, the same ones each time',
    (weights) => {
      const routes = deal(weighed(weights));
      for (const [no, weight] of weights.entries()) {
        const share = routes.filter((route) => route === no + 1).length / visitors;
        expect(Math.abs(share - weight / sumOf(weights))).toBeLessThan(0.01);
      }
      expect(Buffer.compare(deal(weighed(weights)), routes)).toBe(0);
    },
  );

  test('moves visitors only over the borders that move, whatever becomes of the sum', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 8, maxLength: 8 });
    const borders = (of: readonly number[]): number[] =>
      of.map((_, no) => sumOf(of.slice(0, no + 1)) / sumOf(of));
    const count = 4_000;
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), weights, weights, (length, before, after) => {
        const [one, other] = [before.slice(0, length), after.slice(0, length)];
        const [was, is] = [deal(weighed(one), count), deal(weighed(other), count)];
        const [from, to] = [borders(one), borders(other)];
        const bound = sumOf(from.map((border, no) => Math.abs(border - to[no]!)));
        const moved = was.filter((route, no) => route !== is[no]).length / count;
        expect(moved).toBeLessThanOrEqual(bound + 0.04);
      }),
      { numRuns: 60 },
    );
  });

  test('of another code is another one: nobody is first everywhere', () => {
    const [one, other] = ['AAECAwQFBgcICQoLDA0ODw', 'EBECAwQFBgcICQoLDA0ODw'].map((seed) =>
      deal(weighed([1, 1]), visitors, seed),
    );
    const alike = one!.filter((route, no) => route === other![no]).length / visitors;
    expect(Math.abs(alike - 0.5)).toBeLessThan(0.01);
  });

  test('goes by the /64 of an IPv6 address and by the whole of an IPv4 one', () => {
    const program = programWords(programOf({ split: weighed([1, 1]) })!);
    const pointOf = (hex: string): number =>
      splitPoint(program, 4, Buffer.from(hex, 'hex'), known[0]!.hashes);
    const ipv6 = '20010db8000000010000000000000001';
    expect(pointOf(ipv6)).toBe(pointOf(`${ipv6.slice(0, 16)}ffffffffffffffff`));
    expect(pointOf(ipv6)).not.toBe(pointOf(ipv6.replace('00000001', '00000002')));
    const ipv4 = '00000000000000000000ffff09010203';
    expect(pointOf(ipv4)).not.toBe(pointOf(`${ipv4.slice(0, 30)}04`));
  });
});
