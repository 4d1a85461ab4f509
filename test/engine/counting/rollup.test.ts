/** Rollups: stored and read they are the same; added and taken back they are as before; months of days. */
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { ByteReader, ByteWriter } from '../../../src/engine/counting/bytes.ts';
import { Dimension, monthNamesFactor, Rollup } from '../../../src/engine/counting/rollup.ts';
import { firstDayOf, monthOf, Summaries } from '../../../src/engine/counting/summaries.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { visitorHashes } from '../../support/visitor-hashes.ts';

const times = fc.integer({ min: 1, max: 2 ** 40 });
const upTo = (max: number) => fc.integer({ min: 0, max });
const counted = fc.oneof(
  fc.record({ dimension: fc.constant(Dimension.os), value: upTo(6), times }),
  fc.record({ dimension: fc.constant(Dimension.browser), value: upTo(27), times }),
  fc.record({ dimension: fc.constant(Dimension.quarter), value: upTo(95), times }),
  fc.record({ dimension: fc.constant(Dimension.bot), value: upTo(3), times }),
  fc.record({ dimension: fc.constant(Dimension.country), value: upTo(65_535), times }),
  fc.record({ dimension: fc.constant(Dimension.route), value: upTo(63), times }),
);
const named = fc.record({
  dimension: fc.constantFrom(Dimension.city, Dimension.referer),
  name: fc.oneof(
    fc.constantFrom('', 'other', 'a', 'b', 'c', 'd', 'e', 'Chicago, US'),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
  ),
  times: fc.integer({ min: 1, max: 1_000 }),
});
const content = fc.record({
  counts: fc.array(counted, { maxLength: 20 }),
  names: fc.array(named, { maxLength: 20 }),
});
type Content = typeof content extends fc.Arbitrary<infer T> ? T : never;

function rollupOf({ counts, names }: Content, namesMax: number): Rollup {
  const rollup = new Rollup(namesMax);
  for (const { dimension, value, times } of counts) rollup.count(dimension, value, times);
  for (const { dimension, name, times } of names) {
    rollup.countName(dimension, name, times);
    rollup.scans += times;
  }
  return rollup;
}

function shown(rollup: Rollup): unknown {
  const values = Object.values(Dimension).flatMap((dimension) =>
    [...rollup.values(dimension)].map(({ value, count }) => `${dimension} ${value} ${count}`),
  );
  const names = [Dimension.city, Dimension.referer].flatMap((dimension) =>
    [...rollup.names(dimension)].map(({ name, count }) => `${dimension} ${name} ${count}`),
  );
  return [rollup.scans, values.sort(), names.sort()];
}

const stored = (rollup: Rollup, namesMax: number): Rollup => {
  const writer = new ByteWriter();
  writer.begin(1);
  rollup.write(writer);
  const reader = new ByteReader(writer.take());
  reader.byte();
  return Rollup.read(reader, namesMax);
};

const namesSum = (rollup: Rollup): number =>
  [Dimension.city, Dimension.referer]
    .flatMap((dimension) => [...rollup.names(dimension)])
    .reduce((sum, { count }) => sum + count, 0);

describe('Rollup', () => {
  it('keeps totals through merge and storing; taking back leaves what was', () => {
    const property = fc.property(
      content,
      content,
      fc.integer({ min: 1, max: 6 }),
      (first, second, namesMax) => {
        const base = rollupOf(first, namesMax);
        const more = rollupOf(second, namesMax);
        const before = [base.scans, namesSum(base)];
        base.merge(more);
        expect(namesSum(base)).toBe(base.scans);
        const read = stored(base, namesMax);
        read.merge(more, -1);
        expect([read.scans, namesSum(read)]).toEqual(before);
        expect(shown(stored(read, namesMax))).toEqual(shown(read));
        expect(shown(read)).toEqual(shown(rollupOf(first, namesMax)));
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it('bounds names per dimension, one more for other', () => {
    const rollup = new Rollup(3);
    for (let i = 0; i < 50; i++) rollup.countName(Dimension.city, `city ${i}`);
    rollup.countName(Dimension.referer, 'still.example');
    const cities = [...rollup.names(Dimension.city)];
    expect(cities.length).toBe(4);
    expect(cities.find(({ name }) => name === 'other')?.count).toBe(47);
    expect([...rollup.names(Dimension.referer)]).toEqual([{ name: 'still.example', count: 1 }]);
  });
});

it('ByteWriter and ByteReader carry integers up to 2^53, texts and bytes, and refuse what ends early', () => {
  const property = fc.property(
    fc.array(fc.maxSafeNat(), { maxLength: 50 }),
    fc.string({ unit: 'grapheme', maxLength: 5_000 }),
    fc.uint8Array({ maxLength: 9_000 }),
    (integers, text, bytes) => {
      const writer = new ByteWriter();
      writer.begin(7);
      for (const integer of integers) writer.integer(integer);
      writer.text(text);
      writer.bytes(bytes);
      const taken = writer.take();
      const reader = new ByteReader(taken);
      expect(reader.byte()).toBe(7);
      for (const integer of integers) expect(reader.integer()).toBe(integer);
      expect(reader.text()).toBe(text);
      expect(Buffer.from(reader.bytes()).equals(Buffer.from(bytes))).toBe(true);
      const cut = new ByteReader(taken.subarray(0, taken.length - 1));
      expect(() => {
        cut.byte();
        for (const _ of integers) cut.integer();
        cut.text();
        cut.bytes();
      }).toThrow('ends early');
    },
  );
  fc.assert(property, { numRuns: 100 });
});

describe('a month', () => {
  const namesMax = 5;
  function openSummaries() {
    const store = openScanStore(join(temporaryFolder(), 'scans.mdb'), 'create');
    onTestFinished(async () => await store.environment.close());
    const summaries = new Summaries(store, namesMax);
    const hashes = visitorHashes(3);
    const visitors = Sketch.empty();
    let visitor = 0;
    /** 40 more visitors of a day, which may be closed already. @param referers one scan of each */
    const close = (day: number, ...referers: readonly string[]): void => {
      const closing = summaries.closedDay(4, day) ?? summaries.emptyDay(day, 1);
      const { rollup, sketch } = closing.pieces[0]!;
      for (const end = visitor + 40; visitor < end; visitor++) {
        hashes.make(visitor);
        for (const one of [sketch, visitors]) one.add(hashes.hi, hashes.lo);
      }
      for (const referer of referers) rollup.countName(Dimension.referer, referer);
      rollup.scans += referers.length;
      store.environment.transactionSync(() => summaries.closeDay(4, closing));
    };
    return { summaries, close, visitors };
  }

  it('has each of its days once, however often and in whatever order they close', () => {
    const { summaries, close, visitors } = openSummaries();
    const first = firstDayOf(monthOf(20_730));
    const days = [1, 0, 0, 0, 1, 30, 1, 30, 27, 0];
    for (const [at, day] of days.entries()) {
      close(first + day, 'r.example');
      const { mask, rollup, sketch } = summaries.month(4, monthOf(20_730))!;
      const closed = new Set(days.slice(0, at + 1));
      expect(mask).toBe([...closed].reduce((sum, one) => sum + 2 ** one, 0));
      expect([rollup.scans, sketch.estimate()]).toEqual([at + 1, visitors.estimate()]);
    }
  });

  it('bounds its names, and counts the rest as other', () => {
    const { summaries, close } = openSummaries();
    for (let day = 0; day < 31; day++) {
      close(20_730 + day, ...Array.from({ length: 5 }, (_, at) => `r${day}-${at}.example`));
    }
    const names = [...summaries.month(4, monthOf(20_740))!.rollup.names(Dimension.referer)];
    expect(names.length).toBeLessThanOrEqual(namesMax * monthNamesFactor + 1);
    expect(names.some(({ name }) => name === 'other')).toBe(true);
  });
});
