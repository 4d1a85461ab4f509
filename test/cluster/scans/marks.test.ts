import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Marks } from '../../../src/cluster/scans/marks.ts';
import { encodeMark, type Mark, readMark } from '../../../src/cluster/scans/scan-messages.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { Played, type Steps } from '../log/played.ts';

const mark = (node: string, savedSeq = 0, counted: readonly [number, number][] = []): Mark => ({
  node,
  savedSeq,
  counted: new Map(counted),
  cores: ['a', 'b', 'c'],
  applied: [0, 0],
});

/** The marks of all cores at one node. The trace has what the script asks for. */
class MarksPlay {
  readonly #played = new Played();
  readonly #marks = new Marks();

  readonly #steps: Steps = {
    /** All that are registered, each with its run. */
    cores: (...cores) =>
      this.#marks.setCores(
        new Map(cores.map((core) => [core.split('.')[0]!, Number(core.split('.')[1] ?? 1)])),
      ),
    counts: (node, position, journal = '1') =>
      this.#marks.take(mark(node, 0, [[Number(journal), Number(position)]])),
    saved: (node, seq) => this.#marks.take(mark(node, Number(seq))),
    applied: (node) => this.#marks.take({ ...mark(node), applied: [5, 6] }),
    'counted?': (journal = '1') => this.#played.note(`${this.#marks.counted(Number(journal))}`),
    'saved?': () => this.#played.note([...this.#marks.saved()].join(' ')),
    'applied?': () => {
      const applied = [...this.#marks.applied().values()];
      this.#played.note(applied.map(String).join(' '));
    },
  };

  play(script: string): Promise<string> {
    return this.#played.play(script, this.#steps);
  }
}

const scripts: Record<string, [script: string, trace: string]> = {
  'two cores have it, whatever the others do': [
    '0 cores a b c + counted? + counts a 100 + counted? + counts b 70 + counted? + counts c 90 + counted? + counts b 120 + counted? + counted? 2',
    '0 undefined, 0 undefined, 0 70, 0 90, 0 100, 0 0',
  ],
  'the only core has it': [
    '0 cores + counted? + cores a + counts a 100 + counts b 200 + counted?',
    '0 undefined, 0 100',
  ],
  'a mark from before a core registered again counts for nothing': [
    '0 cores a b + saved a 3 + saved b 9 + counts a 30 + counts b 20 + saved a 7 + cores a b.2 + counted? + saved?',
    '0 undefined, 0 a,7 b,0',
  ],
  'a core that has left counts for nothing, also when it is back': [
    '0 cores a b c + counts a 30 + counts b 20 + counts c 10 + cores a c d + counted? + cores a b c + counted? + saved?',
    '0 10, 0 10, 0 a,0 b,0 c,0',
  ],
  'it is lower when a core comes back with less, and stays while one is silent': [
    '0 cores a b + counts a 100 + counts b 100 + counts a 200 + counted? + counts b 50 + counted? + counts b 1 2 + counted?',
    '0 100, 0 50, 0 0',
  ],
  'what cores have applied is what they last reported; nothing of others, or after another registration':
    [
      '0 cores a b silent + applied a + applied b + applied unknown + applied? + cores a b.2 silent + applied?',
      '0 5,6 5,6 0,0, 0 5,6 0,0 0,0',
    ],
};

it.each(Object.entries(scripts))('%s', async (_, [script, trace]) => {
  expect(await new MarksPlay().play(script)).toBe(trace);
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
        const written = { node, savedSeq, counted: new Map(counted), cores, applied };
        expect(readMark(encodeMark(written))).toEqual(written);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });

  it('fits one message however many journals there are', () => {
    const counted = Array.from({ length: 65_536 }, (_, journal) => [journal, 2 ** 52] as const);
    const cores = Array.from({ length: 100 }, (_, at) => `${at}`.padStart(32, 'core'));
    const { length } = encodeMark({ ...mark('a'), counted: new Map(counted), cores });
    expect(length).toBeLessThan(1_000_000);
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
