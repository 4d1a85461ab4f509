import { getRandomValues } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { formatCursor, parseCursor } from '../../src/model/cursor.ts';
import {
  createIdSource,
  derivedId,
  idTail,
  idTimeMs,
  parseId,
  positionId,
  sourceId,
} from '../../src/model/ids.ts';
import { TestClock } from '../support/fakes/test-clock.ts';

const bodyAfter = (id: string): string => id.slice(id.indexOf('_') + 1);

describe('createIdSource', () => {
  test('ids have prefix, 20 characters, and the time they were made', () => {
    const clock = new TestClock();
    const id = createIdSource(clock, getRandomValues).newId('qr');
    expect(id).toMatch(/^qr_[0-9a-hjkmnp-tv-z]{20}$/);
    expect(parseId('qr', id)).toBe(id);
    expect(idTimeMs(id)).toBe(clock.now());
  });

  test('ids increase whatever small steps the clock makes', () => {
    const step = fc.integer({ min: -1_000, max: 1_000 });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 50 }), (steps) => {
        const clock = new TestClock();
        const source = createIdSource(clock, getRandomValues);
        let last = '';
        for (const byMs of steps) {
          clock.set(Math.max(clock.now() + byMs, Date.UTC(2026, 2, 4, 5, 6, 0)));
          const id = bodyAfter(source.newId('evt'));
          expect(id > last).toBe(true);
          last = id;
        }
      }),
    );
  });

  test('ids increase when the randomness is at its greatest, by going into the next millisecond', () => {
    const clock = new TestClock();
    const source = createIdSource(clock, (bytes) => bytes.fill(255));
    const ids = Array.from({ length: 10_000 }, () => source.newId('evt'));
    expect(ids).toEqual([...new Set(ids)].sort());
  });

  test('after a step back of a year the ids carry the new time', () => {
    const clock = new TestClock();
    const source = createIdSource(clock, getRandomValues);
    source.newId('qr');
    clock.move(-365 * 86_400_000);
    expect(idTimeMs(source.newId('qr'))).toBe(clock.now());
  });
});

describe('positionId', () => {
  const timeMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  const journal = fc.integer({ min: 0, max: 4_095 });
  const position = fc.maxSafeInteger().map((n) => Math.abs(n) % 2 ** 40);

  test('is exact in all 100 bits', () => {
    fc.assert(
      fc.property(timeMs, journal, position, (time, of, at) => {
        const id = positionId('scn', time, of, at);
        expect(parseId('scn', id)).toBe(id);
        expect(idTimeMs(id)).toBe(time);
        expect(idTail(id)).toBe(of * 2 ** 40 + at);
        const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
        let bits = 0n;
        for (const digit of bodyAfter(id)) bits = bits * 32n + BigInt(alphabet.indexOf(digit));
        expect(bits).toBe((BigInt(time) << 52n) | (BigInt(of) << 40n) | BigInt(at));
      }),
    );
  });

  test('every journal of a cluster has ids of its own, also where numbers share their lower bits', () => {
    const ids = new Set<string>();
    for (let at = 0; at < 65_536; at++) ids.add(positionId('evt', 1_000, at, 77));
    for (let at = 5; at < 65_536; at += 4_096) {
      for (const position of [0, 78, 2 ** 36 - 1]) ids.add(positionId('evt', 1_000, at, position));
    }
    expect(ids.size).toBe(65_536 + 16 * 3);
  });

  test('refuses what does not fit', () => {
    expect(() => positionId('scn', 0, 65_536, 0)).toThrow('journal 65536');
    expect(() => positionId('scn', 0, 0, 2 ** 40)).toThrow('position');
  });
});

describe('derivedId', () => {
  const timeMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  const tail = fc.bigInt(0n, 2n ** 52n - 1n);
  const from = (time: number, bits: bigint): string =>
    positionId('evt', time, Number(bits >> 40n), Number(bits & (2n ** 40n - 1n)));
  const no = fc.integer({ min: 0, max: 2 ** 27 - 1 });

  test('has the time of its source and gives it back; every number and every source has its own', () => {
    fc.assert(
      fc.property(timeMs, fc.tuple(tail, tail), fc.tuple(no, no), (time, [a, b], [one, other]) => {
        const idOf = (bits: bigint, number: number) => derivedId('dlv', from(time, bits), number);
        const id = idOf(a, one);
        expect([parseId('dlv', id), idTimeMs(id), idOf(a, one)]).toEqual([id, time, id]);
        expect(sourceId('evt', id, one)).toBe(from(time, a));
        expect(id === idOf(a, other)).toBe(one === other);
        expect(id === idOf(b, one)).toBe(a === b);
      }),
    );
  });

  test('scans of a millisecond, megabytes of a journal, and endpoints never share one', () => {
    const endpoint = fc.integer({ min: 1, max: 2 ** 25 });
    const stepBytes = fc.integer({ min: -60_000_000, max: 60_000_000 });
    const position = fc.integer({ min: 2 ** 27, max: 2 ** 39 });
    fc.assert(
      fc.property(position, stepBytes, endpoint, endpoint, (at, step, one, other) => {
        const idOf = (bytes: number, number: number): string =>
          derivedId('dlv', positionId('evt', 1, 4_095, bytes), number);
        expect(idOf(at, one) === idOf(at + step, other)).toBe(step === 0 && one === other);
      }),
    );
    // The nearest that two can be: of endpoints that follow each other.
    const id = derivedId('dlv', positionId('evt', 1, 0, 1e9), 7);
    const gap = idTail(derivedId('dlv', positionId('evt', 1, 0, 1e9), 8)) - idTail(id);
    expect(gap).toBeGreaterThan(60_000_000);
  });
});

test('parseId knows no id in any other text', () => {
  const id = 'qr_0123456789abcdefghjk';
  expect(parseId('qr', id)).toBe(id);
  const other = [`${id}0`, id.slice(0, -1), id.replace('k', 'i'), `${id}\n`, id.replace('_', '-')];
  for (const text of ['', 'qr_', ...other, `qr_${id.slice(3).toUpperCase()}`, `u${id}`]) {
    expect(parseId('qr', text), text).toBeUndefined();
  }
});

it('a cursor carries its numbers', () => {
  const numbers = fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(numbers, (given) => {
      expect(parseCursor(formatCursor(...given), given.length)).toEqual(given);
    }),
  );
});

it.each([
  ['another text', 'nonsense', 1],
  ['nothing', '', 1],
  ['too few numbers', '1', 2],
  ['too many', '1.2.3', 2],
  ['a number written otherwise', '01', 1],
  ['an exponent', '1e3', 1],
  ['a negative one', '-1', 1],
  ['one beyond what is exact', '9007199254740993', 1],
  ['a text in base64', 'AZXuC0gAAAAAKg', 2],
])('%s is refused', (_name, text, count) => {
  expect(() => parseCursor(text, count)).toThrow('Expected nextCursor of the page before');
});
