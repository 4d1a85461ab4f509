import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountedChanges, Marks, reportAllMs } from '../../../src/cluster/scans/marks.ts';
import {
  encodeMark,
  type JournalPosition,
  type Mark,
  readMark,
} from '../../../src/cluster/scans/scan-messages.ts';
import { packPlain } from '../../../src/store/codec.ts';

const mark = (node: string, counted: readonly JournalPosition[], savedSeq = 0): Mark => ({
  node,
  savedSeq,
  counted,
  cores: ['a', 'b', 'c'],
  applied: [0, 0],
});

const registered = (cores: readonly string[], run = 1): ReadonlyMap<string, number> =>
  new Map(cores.map((name) => [name, run]));

function marksOf(cores: readonly string[]): Marks {
  const marks = new Marks();
  marks.setCores(registered(cores));
  return marks;
}

describe('what enough cores have counted', () => {
  it('is what two of them have, whatever the others do', () => {
    const marks = marksOf(['a', 'b', 'c']);
    expect(marks.counted(1)).toBeUndefined();
    marks.take(mark('a', [[1, 100]]), 0);
    expect(marks.counted(1)).toBeUndefined();
    marks.take(mark('b', [[1, 70]]), 0);
    expect(marks.counted(1)).toBe(70);
    marks.take(mark('c', [[1, 90]]), 0);
    expect(marks.counted(1)).toBe(90);
    marks.take(mark('b', [[1, 120]]), 1);
    expect([marks.counted(1), marks.counted(2)]).toEqual([100, undefined]);
  });

  it('is what the only one has', () => {
    const marks = marksOf(['a']);
    marks.take(mark('a', [[1, 100]]), 0);
    marks.take(mark('b', [[1, 200]]), 0);
    expect(marks.counted(1)).toBe(100);
    expect(marksOf([]).counted(1)).toBeUndefined();
  });

  it('is nothing of what a core told before it registered anew', () => {
    const marks = marksOf(['a', 'b']);
    marks.take(mark('a', [[1, 30]], 7), 0);
    marks.take(mark('b', [[1, 20]], 9), 0);
    marks.setCores(
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
    );
    expect(marks.counted(1)).toBeUndefined();
    expect(marks.saved()).toEqual(
      new Map([
        ['a', 7],
        ['b', 0],
      ]),
    );
  });

  it('is nothing of a core that has left', () => {
    const marks = marksOf(['a', 'b', 'c']);
    for (const [node, position] of [
      ['a', 30],
      ['b', 20],
      ['c', 10],
    ] as const) {
      marks.take(mark(node, [[1, position]]), 0);
    }
    marks.setCores(registered(['a', 'c', 'd']));
    expect(marks.counted(1)).toBe(10);
    marks.setCores(registered(['a', 'b', 'c']));
    expect(marks.counted(1)).toBe(10);
    expect(marks.saved()).toEqual(
      new Map([
        ['a', 0],
        ['b', 0],
        ['c', 0],
      ]),
    );
  });

  it('goes back where a core comes back with less, and stays while one is silent', () => {
    const marks = marksOf(['a', 'b']);
    marks.take(mark('a', [[1, 100]]), 0);
    marks.take(mark('b', [[1, 100]]), 0);
    for (let ms = 0; ms < 1_000_000; ms += reportAllMs) marks.take(mark('a', [[1, 200]]), ms);
    expect(marks.counted(1)).toBe(100);
    marks.take(mark('b', [[1, 50]]), 1_000_000);
    expect(marks.counted(1)).toBe(50);
    // Another disk, on which it has nothing of this journal.
    for (let ms = 1_000_000; ms < 1_040_000; ms += reportAllMs) marks.take(mark('b', [[2, 1]]), ms);
    expect(marks.counted(1)).toBe(0);
  });

  it('is nothing of a journal that a core did not tell of in its full rounds', () => {
    const marks = marksOf(['a']);
    marks.take(mark('a', []), 0);
    marks.take(mark('a', []), 20_000);
    expect(marks.counted(1)).toBeUndefined();
    marks.take(mark('a', []), 21_000);
    expect(marks.counted(1)).toBe(0);
  });
});

it('what cores have applied is what they last reported; nothing of others, or after another registration', () => {
  const marks = marksOf(['a', 'b', 'silent']);
  const applied = [5, 6] as const;
  for (const node of ['a', 'b', 'unknown']) marks.take({ ...mark(node, []), applied }, 0);
  expect([...marks.applied().values()]).toEqual([applied, applied, [0, 0]]);
  marks.setCores(new Map([...registered(['a', 'silent']), ['b', 2]]));
  expect(marks.applied().get('b')).toEqual([0, 0]);
});

describe('what a core tells', () => {
  it('is what has moved, and everything each 10 s', () => {
    const changes = new CountedChanges();
    const counted = new Map([
      [1, 10],
      [2, 20],
    ]);
    expect(changes.next(counted, 0)).toEqual([[...counted]]);
    expect(changes.next(counted, 1_000)).toEqual([[]]);
    counted.set(2, 21).set(3, 5);
    expect(changes.next(counted, 2_000)).toEqual([
      [
        [2, 21],
        [3, 5],
      ],
    ]);
    counted.set(1, 9);
    expect(changes.next(counted, 9_999)).toEqual([[[1, 9]]]);
    expect(changes.next(counted, 10_000)).toEqual([[...counted]]);
    expect(changes.next(counted, 19_999)).toEqual([[]]);
  });

  it('fits messages however many journals there are', () => {
    const counted = Array.from({ length: 65_536 }, (_, journal) => [journal, 2 ** 52] as const);
    const messages = new CountedChanges().next(counted, 0);
    expect(messages.flat()).toEqual(counted);
    for (const one of messages) expect(encodeMark(mark('a', one)).length).toBeLessThan(30_000);
  });
});

describe('a mark', () => {
  it('is read as it was written', () => {
    const position = fc.tuple(fc.nat(65_535), fc.maxSafeNat());
    const property = fc.property(
      fc.string(),
      fc.maxSafeNat(),
      fc.array(position),
      fc.array(fc.string()),
      (node, savedSeq, counted, cores) => {
        const applied = [savedSeq, 7] as const;
        const written = { node, savedSeq, counted, cores, applied };
        expect(readMark(encodeMark(written))).toEqual(written);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });

  it('is nothing else', () => {
    for (const wrong of [
      'mark',
      [2, 'a', 1, [], [], [1, 1]],
      [1, 3, 1, [], [], [1, 1]],
      [1, 'a', -1, [], [], [1, 1]],
      [1, 'a', 1, [[1]], [], [1, 1]],
      [1, 'a', 1, [[1, -1]], [], [1, 1]],
      [1, 'a', 1, 3, [], [1, 1]],
      [1, 'a', 1, [], [7], [1, 1]],
      [1, 'a', 1, [], []],
      [1, 'a', 1, [], [], [1]],
      [1, 'a', 1, [], [], [1, -1]],
    ]) {
      expect(readMark(packPlain(wrong))).toBeUndefined();
    }
    expect(readMark(Buffer.from('no mark'))).toBeUndefined();
  });
});
