/** Programs in link blocks: of all sizes, beside links that have none. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Browser, type BrowserName } from '../../../src/model/scan.ts';
import {
  conditionsMax,
  type RouteRule,
  type RouteVariant,
  routeTargetsMax,
  rulesMax,
  splitMax,
} from '../../../src/model/routing/routing.ts';
import { programBytesMax } from '../../../src/engine/routes/program-layout.ts';
import {
  linkBlockBytesMax,
  linkIn,
  linksIn,
  type StoredLink,
  withLink,
} from '../../../src/engine/links/link-blocks.ts';
import { programOf, taggedProgram } from './routed.ts';

const urlBytesMax = 2_048;
const numbered = (no: number, length: number, letter: string): string =>
  `${no}`.padStart(length, letter);
const longTarget = (no: number): string =>
  `https://e.co/${numbered(no, urlBytesMax - 'https://e.co/'.length, 't')}`;

/** The largest there can be: as much as a code's fields may hold of everything, and nothing twice. */
function largestProgram(): Uint8Array {
  const browsers = Object.keys(Browser) as BrowserName[];
  const letters = Array.from({ length: 26 }, (_, no) => String.fromCharCode(65 + no));
  const countries = letters.flatMap((one) => letters.map((other) => one + other));
  const rules = Array.from({ length: rulesMax }, (_, no): RouteRule => {
    const texts = Array.from({ length: 5 }, (_one, at) => no * 5 + at);
    return {
      label: `rule-${no}`,
      if: {
        browser: browsers,
        country: countries.slice(no, no + 60),
        language: Array.from({ length: 20 }, (_one, at) => `en-${numbered(no * 20 + at, 32, 'x')}`),
        time: { timezone: 'America/Argentina/ComodRivadavia' },
        date: { from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z' },
        query: Object.fromEntries(
          texts.map((at) => [numbered(at, 40, '\u00e4'), numbered(at, 120, '\u4e2d')]),
        ),
      },
      then: { target: longTarget(no) },
    };
  });
  expect(Object.keys(rules[0]!.if)).toHaveLength(conditionsMax);
  const split = Array.from({ length: splitMax }, (_, no): RouteVariant => {
    return { label: `variant-${no}`, target: longTarget(rulesMax + no), weight: 1_000 };
  });
  expect(rulesMax + splitMax).toBe(routeTargetsMax);
  const more = { startsAtMs: 4e12, paused: true, passQuery: true, fallbackUrl: longTarget(99) };
  return programOf({ rules, split, ...more })!;
}

const largest = Uint8Array.from(largestProgram());
const sizes = [0, 1, 700, 3_000, 20_000];
const programs = [...sizes.map((bytes, no) => Uint8Array.from(taggedProgram(no, bytes))), largest];

test('the largest program there can be is within its bound', () => {
  expect(largest.length).toBeGreaterThan(0.7 * programBytesMax);
  expect(largest.length).toBeLessThanOrEqual(programBytesMax);
});

const link = fc.record({
  key: fc.stringMatching(/^[A-Z0-9_-]{1,64}$/),
  codeNo: fc.integer({ min: 160, max: 175 }),
  workspaceNo: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  target: fc.constant('https://example.com/'),
  expiresAtMs: fc.constantFrom(0, 4e12),
  scanLimit: fc.constantFrom(undefined, 7),
  state: fc.constantFrom('live' as const, 'live' as const, 'deleted' as const, 'damaged' as const),
  program: fc.option(fc.constantFrom(...programs), { nil: undefined, freq: 4 }),
});

const sumOf = (program: Uint8Array): string => `${program.length} ${crc32(program)}`;

/** With the sum of its program, which is compared sooner than 100 KB. */
const summed = (one: StoredLink | undefined): object | undefined =>
  one?.program === undefined ? one : { ...one, program: sumOf(one.program) };

/** What a block has of it: tombstones have no target, and no program. */
function stored({ program, ...one }: StoredLink): StoredLink {
  if (one.state !== 'live') return { ...one, target: '' };
  return program === undefined ? one : { ...one, program };
}

test('a block gives back every program put into it, by both ways of reading it', () => {
  fc.assert(
    fc.property(fc.array(link, { minLength: 1, maxLength: 40 }), (links) => {
      let block: Uint8Array = new Uint8Array();
      const model = new Map<number, StoredLink>();
      for (const one of links) {
        block = withLink(block, one);
        model.set(one.codeNo, stored(one));
      }
      const expected = [...model.values()].sort((one, other) => one.codeNo - other.codeNo);
      expect(linksIn(10, block).map(summed)).toEqual(expected.map(summed));
      for (const [no, one] of model) expect(summed(linkIn(block, no))).toEqual(summed(one));
    }),
    { numRuns: 60 },
  );
});

test('links without programs have the bytes that link-blocks.ts draws', () => {
  const fields = { workspaceNo: 7, target: 'https://e.co/', scanLimit: undefined };
  const first: StoredLink = { ...fields, codeNo: 0, key: 'A', expiresAtMs: 0, state: 'live' };
  const limited = { ...first, codeNo: 3, expiresAtMs: 4e12, scanLimit: 9 };
  const gone: StoredLink = { ...first, codeNo: 15, target: '', state: 'deleted' };
  const block = [first, limited, gone].reduce<Uint8Array | undefined>(withLink, undefined);
  expect(Buffer.from(block!).toString('hex')).toBe(
    '0000010d00070000000000000000000000ffffffff4168747470733a2f2f652e636f2f' +
      '0300010d0007000000000000a2941a8d42090000004168747470733a2f2f652e636f2f' +
      '0f01010000070000000000000000000000ffffffff41',
  );
  expect(linksIn(0, block!)).toEqual([first, limited, gone]);
});

test('a block of sixteen of the largest programs is within its bound', () => {
  let block: Uint8Array = new Uint8Array();
  for (let no = 0; no < 16; no++) {
    const [key, target] = [numbered(no, 64, 'K'), longTarget(no)];
    const fields = { key, codeNo: 16 + no, workspaceNo: 1, target, expiresAtMs: 4e12 };
    block = withLink(block, { ...fields, scanLimit: 9, state: 'live', program: largest });
  }
  expect(block.length).toBeLessThanOrEqual(linkBlockBytesMax);
});
