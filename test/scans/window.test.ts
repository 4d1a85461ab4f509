/** A window and the block made of it: the scans that were added, by code, and nothing else. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { Sketch } from '../../src/model/sketch/sketch.ts';
import { refererHost, ScanBlock } from '../../src/scans/block.ts';
import { NumberOrder } from '../../src/scans/number-order.ts';
import { countryCode, countryValue, Dimension, Rollup } from '../../src/scans/rollup.ts';
import { type Scan, setBlockSequence, Window } from '../../src/scans/window.ts';

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const country = fc.constantFrom('DE', 'US', 'ZZ').map(countryValue);
const scan: fc.Arbitrary<Scan> = fc.record({
  codeNo: fc.oneof(fc.integer({ min: 1, max: 6 }), u32),
  workspaceNo: fc.constant(0),
  timeMs: fc.integer({ min: 0, max: 4e12 }),
  journal: fc.integer({ min: 0, max: 4_095 }),
  position: fc.integer({ min: 0, max: 2 ** 50 }),
  visitorHigh: u32,
  visitorLow: u32,
  country,
  city: fc.oneof(
    fc.constant(''),
    fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => `${text}, DE`),
  ),
  referer: fc.string({ maxLength: 512 }),
  device: fc.integer({ min: 0, max: 3 }),
  platform: fc.integer({ min: 0, max: 2 }),
  os: fc.integer({ min: 0, max: 6 }),
  browser: fc.integer({ min: 0, max: 27 }),
  bot: fc.constantFrom(0, 0, 0, 1, 2, 3),
});
/** A code belongs to one workspace. */
const workspaceOf = (codeNo: number): number => (codeNo * 7) % 2 ** 32;

function entriesOf(block: ScanBlock, group: number) {
  return Array.from({ length: block.count(group) }, (_, index) => {
    const entry = block.first(group) + index;
    return {
      timeMs: block.timeMs(entry),
      position: block.position(entry),
      journal: block.journal(entry),
      country: block.country(entry),
      city: block.city(entry),
      referer: block.referer(entry),
      device: block.device(entry),
      os: block.os(entry),
      bot: block.bot(entry),
    };
  });
}

const entryOf = ({ timeMs, position, journal, country, city, referer, device, os, bot }: Scan) => ({
  timeMs,
  position,
  journal,
  country: countryCode(country),
  city: city.slice(0, -4),
  referer,
  device,
  os,
  bot,
});

describe('Window and ScanBlock', () => {
  it('keep every scan under its code, in order of arrival, window after window', () => {
    const window = new Window();
    const property = fc.property(fc.array(scan, { maxLength: 60 }), (made) => {
      const scans = made.map((one) => ({ ...one, workspaceNo: workspaceOf(one.codeNo) }));
      for (const one of scans) window.add(one);
      expect(window.scans).toBe(scans.length);
      const bytes = window.close(3, (codeNo) => codeNo * 2 + 1);
      window.clear();
      setBlockSequence(bytes, 2 ** 40 + 5);
      const block = new ScanBlock(Uint8Array.from(bytes));
      expect(block.newestMs).toBe(Math.max(0, ...scans.map(({ timeMs }) => timeMs)));
      expect(block.sequence).toBe(2 ** 40 + 5);
      const codes = [...new Set(scans.map(({ codeNo }) => codeNo))].sort((a, b) => a - b);
      expect(Array.from({ length: block.groups }, (_, group) => block.codeNo(group))).toEqual(
        codes,
      );
      for (const [group, codeNo] of codes.entries()) {
        expect(block.find(codeNo)).toBe(group);
        expect(block.workspaceNo(group)).toBe(workspaceOf(codeNo));
        expect(block.previous(group)).toBe(codeNo * 2 + 1);
        const own = scans.filter((one) => one.codeNo === codeNo);
        expect(entriesOf(block, group)).toEqual(own.map(entryOf));
      }
      for (const absent of [0, 7, 8, 2 ** 32 - 1]) {
        if (!codes.includes(absent)) expect(block.find(absent)).toBe(-1);
      }
    });
    fc.assert(property, { numRuns: 150 });
  });

  it('grow beyond their first size and keep their entries', () => {
    const window = new Window();
    const one = fc.sample(scan, { numRuns: 1, seed: 4 })[0]!;
    for (let i = 0; i < 10_000; i++) window.add({ ...one, codeNo: i % 100, position: i });
    const block = new ScanBlock(window.close(0, () => 0));
    for (let group = 0; group < 100; group++) {
      const positions = entriesOf(block, group).map(({ position }) => position);
      expect(positions).toEqual(Array.from({ length: 100 }, (_, i) => i * 100 + group));
    }
  });

  it('refuse a block of another version', () => {
    const bytes = new Window().close(0, () => 0);
    bytes[0] = 2;
    expect(() => new ScanBlock(bytes)).toThrow('version 2, expected 1');
  });
});

describe('NumberOrder', () => {
  it('is ascending, and of equal numbers as they came', () => {
    const order = new NumberOrder();
    const number = fc.oneof(
      fc.integer({ min: 0, max: 9 }),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    );
    const property = fc.property(
      fc.array(number, { maxLength: 200 }),
      fc.nat(20),
      (made, unused) => {
        const numbers = Uint32Array.from([...made, ...Array.from({ length: unused }, () => 5)]);
        const expected = made
          .map((value, index) => ({ value, index }))
          .sort((a, b) => a.value - b.value || a.index - b.index)
          .map(({ index }) => index);
        expect([...order.of(numbers, made.length).subarray(0, made.length)]).toEqual(expected);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it('grows', () => {
    const numbers = Uint32Array.from({ length: 20_000 }, (_, index) => (20_000 - index) * 200_000);
    const order = new NumberOrder().of(numbers, 20_000);
    expect([...order.subarray(0, 3), order[19_999]]).toEqual([19_999, 19_998, 19_997, 0]);
  });
});

describe('countInto', () => {
  it('counts people in every dimension and bots in none but their own', () => {
    const property = fc.property(fc.array(scan, { minLength: 1, maxLength: 40 }), (scans) => {
      const window = new Window();
      for (const one of scans) window.add({ ...one, codeNo: 1 });
      const block = new ScanBlock(window.close(0, () => 0));
      const rollup = new Rollup(1_000);
      const sketch = Sketch.empty();
      for (let entry = 0; entry < scans.length; entry++) block.countInto(entry, rollup, sketch);
      const people = scans.filter(({ bot }) => bot === 0);
      expect(rollup.scans).toBe(people.length);
      expect(sketch.estimate()).toBeLessThanOrEqual(people.length);
      const { platform, device, os, browser, country, hour, bot } = Dimension;
      for (const dimension of [platform, device, os, browser, country, hour]) {
        const sum = [...rollup.values(dimension)].reduce((total, { count }) => total + count, 0);
        expect(sum).toBe(people.length);
      }
      const bots = [...rollup.values(bot)].reduce((total, { count }) => total + count, 0);
      expect(bots).toBe(scans.length - people.length);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('puts times that no key can name on the first or the last day', () => {
    const window = new Window();
    const one = fc.sample(scan, { numRuns: 1, seed: 4 })[0]!;
    for (const timeMs of [-5, 0, 20_000 * dayMs, 61_439 * dayMs, 90_000 * dayMs, 8e15]) {
      window.add({ ...one, codeNo: 1, timeMs });
    }
    const block = new ScanBlock(window.close(0, () => 0));
    const days = Array.from({ length: 6 }, (_, entry) => block.day(entry));
    expect(days).toEqual([0, 0, 20_000, 61_439, 61_439, 61_439]);
  });
});

describe('refererHost', () => {
  it.each([
    ['https://www.example.org/a', 'example.org'],
    ['http://EXAMPLE.org:8080/', 'example.org:8080'],
    ['android-app://com.google.android.gm/x', 'com.google.android.gm'],
    ['about:blank', 'about'],
    ['garbage', ''],
    ['', ''],
    [`https://${'a'.repeat(60)}.${'b'.repeat(60)}.example/`, `${'a'.repeat(60)}.${'b'.repeat(39)}`],
  ])('%s is %s', (referer, host) => expect(refererHost(referer)).toBe(host));
});
