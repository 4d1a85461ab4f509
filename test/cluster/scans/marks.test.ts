/** What the cores of a cluster have of each journal and of the logs, as one node knows it. */
import { expect, it } from 'vitest';
import type { Mark } from '../../../src/cluster/nodes/beat-message.ts';
import { Marks } from '../../../src/cluster/scans/marks.ts';

class KnownMarks extends Marks {
  /** `b.2` is registered for the second time. */
  cores(...cores: readonly string[]): void {
    const runs = cores
      .map((core) => core.split('.'))
      .map(([name, run = '1']) => [name!, Number(run)]);
    this.setCores(new Map(runs as Array<[string, number]>));
  }

  report(core: string, mark: Partial<Mark>): void {
    this.take(core, { savedSeq: 0, counted: [], cores: [], applied: [0, 0], ...mark });
  }

  /** @returns what enough cores have of journal 1 then */
  counts(core: string, position: number): number | undefined {
    this.report(core, { counted: [[1, position]] });
    return this.counted(1);
  }
}

it('two cores have a journal, whatever the others do; or the only one has it', () => {
  const marks = new KnownMarks();
  expect(marks.counted(1)).toBeUndefined();
  marks.cores('a');
  expect([marks.counts('a', 100), marks.counts('b', 200)]).toEqual([100, 100]);
  const three = new KnownMarks();
  three.cores('a', 'b', 'c');
  const reports = [three.counts('a', 100), three.counts('b', 70), three.counts('c', 90)];
  expect([...reports, three.counts('b', 120)]).toEqual([undefined, 70, 90, 100]);
  expect(three.counted(2)).toBe(0);
});

it('what is counted is lower when a core comes back with less, and stays while one is silent', () => {
  const marks = new KnownMarks();
  marks.cores('a', 'b');
  marks.counts('a', 100);
  expect([marks.counts('b', 100), marks.counts('a', 200), marks.counts('b', 50)]).toEqual([
    100, 100, 50,
  ]);
  marks.report('b', { counted: [[2, 1]] });
  expect(marks.counted(1)).toBe(0);
});

it('a mark from before a core registered again, or had left, counts for nothing', () => {
  const marks = new KnownMarks();
  marks.cores('a', 'b', 'silent');
  for (const core of ['a', 'b', 'unknown']) {
    marks.report(core, { savedSeq: 7, counted: [[1, 30]], applied: [5, 6] });
  }
  expect([...marks.saved()].join(' ')).toBe('a,7 b,7 silent,0');
  marks.cores('a', 'b.2', 'silent');
  expect(marks.counted(1)).toBeUndefined();
  expect([...marks.saved()].join(' ')).toBe('a,7 b,0 silent,0');
  expect([...marks.applied().values()].join(' ')).toBe('5,6 0,0 0,0');
  marks.cores('silent');
  marks.cores('a', 'silent');
  expect([...marks.saved()].join(' ')).toBe('a,0 silent,0');
});
