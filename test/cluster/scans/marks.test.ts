import { expect, it } from 'vitest';
import type { Mark } from '../../../src/cluster/nodes/beat-message.ts';
import { Marks } from '../../../src/cluster/scans/marks.ts';
import { Played, type Steps } from '../virtual-time.ts';

const mark: Mark = { savedSeq: 0, counted: [], cores: ['a', 'b', 'c'], applied: [0, 0] };

/** The marks of all cores at one node. The trace has what the script asks for. */
class MarksPlay extends Played {
  readonly #marks = new Marks();

  readonly #steps: Steps = {
    /** All that are registered, each with its run. */
    cores: (...cores) =>
      this.#marks.setCores(
        new Map(cores.map((core) => [core.split('.')[0]!, Number(core.split('.')[1] ?? 1)])),
      ),
    counts: (core, position, journal = '1') =>
      this.#marks.take(core, { ...mark, counted: [[Number(journal), Number(position)]] }),
    saved: (core, seq) => this.#marks.take(core, { ...mark, savedSeq: Number(seq) }),
    applied: (core) => this.#marks.take(core, { ...mark, applied: [5, 6] }),
    'counted?': (journal = '1') => this.note(`${this.#marks.counted(Number(journal))}`),
    'saved?': () => this.note([...this.#marks.saved()].join(' ')),
    'applied?': () => {
      const applied = [...this.#marks.applied().values()];
      this.note(applied.map(String).join(' '));
    },
  };

  run(script: string): Promise<string> {
    return this.play(script, this.#steps);
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
  expect(await new MarksPlay().run(script)).toBe(trace);
});
