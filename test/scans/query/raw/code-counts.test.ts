import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CodeCounts } from '../../../../src/scans/query/raw/code-counts.ts';

const code = fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 0xff00_0000 }));
const scans = fc.array(fc.tuple(code, fc.integer({ min: 1, max: 9 })), {
  minLength: 1_000,
  maxLength: 6_000,
  size: 'max',
});

test('CodeCounts counts as a map does, of all codes or of those that are asked for', () => {
  const property = fc.property(scans, fc.boolean(), (added, isOpen) => {
    const asked = added.filter((_, at) => at % 3 === 0).map(([codeNo]) => codeNo);
    const counts = new CodeCounts(isOpen ? undefined : Uint32Array.from(asked));
    const isAsked = new Set(asked);
    const wanted = new Map<number, number>();
    for (const [codeNo, count] of added) {
      const isWanted = isOpen || isAsked.has(codeNo);
      if (counts.isWanted(codeNo) !== isWanted) expect(codeNo).toBe(isWanted);
      if (!isWanted) continue;
      counts.add(codeNo, count);
      wanted.set(codeNo, (wanted.get(codeNo) ?? 0) + count);
    }
    const filled = counts.filled();
    const found = new Map(Array.from(filled.codes, (codeNo, at) => [codeNo, filled.scans[at]!]));
    expect(found).toEqual(wanted);
  });
  fc.assert(property, { numRuns: 20 });
});
