/** What is kept by bytes: against a plain map, and within its bound. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentBytes, Referers } from '../../../src/scans/visitor/recent-bytes.ts';
import { textBytesMax } from '../../../src/scans/record.ts';
import { recordText } from './record-text.ts';

const find = (recent: RecentBytes<string>, text: string): string | undefined => {
  const { view, from, length } = recordText(text);
  return recent.find(view, from, length);
};

describe('RecentBytes', () => {
  it('gives what was kept of a text, and nothing of any other', () => {
    // Few letters: texts that differ in one place, in length alone, or by zero bytes at the end.
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'ÿ'), maxLength: 24 });
    const property = fc.property(fc.array(text, { maxLength: 300 }), (texts) => {
      const recent = new RecentBytes<string>(10_000, 24);
      const kept = new Set<string>();
      for (const one of texts) {
        expect(find(recent, one)).toBe(kept.has(one) ? one : undefined);
        if (!kept.has(one)) recent.keep(one);
        kept.add(one);
      }
      expect(recent.size).toBe(kept.size);
      for (const one of kept) expect(find(recent, one)).toBe(one);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('distinguishes texts of the same hash', () => {
    // 65,536 hashes: among 4,000 texts some have the same.
    const recent = new RecentBytes<string>(20_000, 16);
    const texts = Array.from({ length: 4_000 }, (_, index) => `text ${index}`);
    for (const text of texts) {
      expect(find(recent, text)).toBeUndefined();
      recent.keep(text);
    }
    for (const text of texts) expect(find(recent, text)).toBe(text);
  });

  it('never holds more than its bound, and keeps what is asked for', () => {
    const recent = new RecentBytes<string>(64, 16);
    expect(find(recent, 'used')).toBeUndefined();
    recent.keep('used');
    for (let index = 0; index < 1_000; index++) {
      if (find(recent, `new ${index}`) === undefined) recent.keep(`new ${index}`);
      expect(find(recent, 'used')).toBe('used');
      expect(recent.size).toBeLessThanOrEqual(64);
    }
    expect(find(recent, 'new 0')).toBeUndefined();
  });
});

describe('Referers', () => {
  it('are the text of the record, however long and whatever came before', () => {
    const referers = new Referers();
    const texts = [
      '',
      'https://a.example/',
      'x'.repeat(textBytesMax),
      'x'.repeat(textBytesMax + 9),
    ];
    for (const round of [1, 2]) {
      for (const text of texts) {
        expect([round, referers.get(recordText(text))]).toEqual([round, text]);
      }
    }
  });
});
