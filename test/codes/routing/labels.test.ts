/** The numbers of labels, which scans carry for ever: over any edits, and when all 58 are taken. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RouteFields } from '../../../src/codes/routing/route-fields.ts';
import { storedRouting } from '../../../src/codes/routing/stored-routing.ts';
import { Failure } from '../../../src/model/failure.ts';
import { labelsMax, routeNumberOf } from '../../../src/model/routing/labels.ts';
import type { Routing } from '../../../src/model/routing/routing.ts';

const minute = 60_000;
const leading = (label: string) => ({ label, target: 'https://example.com/', weight: 1 });
const ruleTo = (label: string) => ({
  label,
  if: { os: ['iOS'] as const },
  then: { target: 'https://example.com/' },
});

/** The first as rules, two as a split where they are enough. */
function fieldsWith(labels: readonly string[]): RouteFields | undefined {
  if (labels.length === 0) return undefined;
  const split = labels.length < 3 ? [] : labels.slice(-2);
  const rules = labels.slice(0, labels.length - split.length).map(ruleTo);
  const splits = split.length === 0 ? {} : { split: split.map(leading) };
  return { rules, ...splits, passQuery: false, paused: false };
}

/** A code that is edited, with the scans that it gets. */
class EditedCode {
  routing: Routing | undefined;
  nowMs = 1_000_000;
  /** By number, the labels under which scans were counted. */
  readonly scans = new Map<number, Set<string>>();
  #seeds = 0;

  edit(labels: readonly string[], knowsScans: 'knows scans' | 'knows none' = 'knows scans'): void {
    this.routing = storedRouting(fieldsWith(labels), this.routing, {
      campaign: '',
      nowMs: this.nowMs,
      seenOf: () => (knowsScans === 'knows none' ? undefined : new Set(this.scans.keys())),
      randomBytes: (bytes) => bytes.fill(++this.#seeds),
    });
  }

  numberOf(label: string): number {
    return routeNumberOf(this.routing?.labels ?? [], label);
  }

  scan(label: string): void {
    const number = this.numberOf(label);
    const counted = this.scans.get(number) ?? new Set();
    this.scans.set(number, counted.add(label));
  }
}

const names = Array.from({ length: 90 }, (_, at) => `l${at}`);
const edits = fc.array(
  fc.record({
    labels: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 28 }),
    scanned: fc.array(fc.nat(27), { maxLength: 4 }),
    afterMs: fc.constantFrom(0, 1_000, minute),
  }),
  { maxLength: 30 },
);

describe('over any edits', () => {
  test('a label with scans keeps its number, no two share one, and the seed stays', () => {
    fc.assert(
      fc.property(edits, (steps) => {
        const code = new EditedCode();
        const numbers = new Map<string, number>();
        for (const { labels, scanned, afterMs } of steps) {
          const before = code.routing;
          try {
            code.edit(labels);
          } catch (error) {
            expect(error).toBeInstanceOf(Failure);
            expect(code.routing).toBe(before);
            continue;
          } finally {
            code.nowMs += afterMs;
          }
          for (const at of scanned) {
            const label = labels[at % Math.max(1, labels.length)];
            if (label !== undefined) code.scan(label);
          }
          for (const label of labels) {
            const number = code.numberOf(label);
            expect(number).toBeGreaterThanOrEqual(1);
            expect(number).toBeLessThanOrEqual(labelsMax);
            const hasScans = code.scans.get(numbers.get(label) ?? 0)?.has(label) === true;
            if (hasScans) expect(number).toBe(numbers.get(label));
            numbers.set(label, number);
          }
          for (const counted of code.scans.values()) expect(counted.size).toBe(1);
          expect(new Set(code.routing?.labels.map(({ name }) => name)).size).toBe(
            code.routing?.labels.length ?? 0,
          );
          if (before !== undefined) expect(code.routing?.seed).toBe(before.seed);
          if (before !== undefined && before.labels.length > 0) {
            expect(code.routing?.labelsSinceMs).toBe(before.labelsSinceMs);
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  test('a label keeps its number while it is away, and gets it back', () => {
    const code = new EditedCode();
    code.edit(['a', 'b', 'c']);
    code.edit(['c']);
    expect(code.routing?.labels).toEqual([
      { name: 'a', unusedSinceMs: code.nowMs },
      { name: 'b', unusedSinceMs: code.nowMs },
      { name: 'c' },
    ]);
    const awayMs = code.nowMs;
    code.nowMs += minute;
    code.edit(['b', 'd']);
    expect(code.routing?.labelsSinceMs).toBe(awayMs);
    expect(code.routing?.labels).toEqual([
      { name: 'a', unusedSinceMs: awayMs },
      { name: 'b' },
      { name: 'c', unusedSinceMs: code.nowMs },
      { name: 'd' },
    ]);
  });
});

describe('a code', () => {
  test('without a field has no routing, unless it had labels', () => {
    const code = new EditedCode();
    code.edit([]);
    expect(code.routing).toBe(undefined);
    code.edit(['a']);
    code.edit([]);
    expect(code.routing).toMatchObject({ rules: [], passQuery: false, paused: false });
    expect(code.routing?.labels).toEqual([{ name: 'a', unusedSinceMs: code.nowMs }]);
    expect(Buffer.from(code.routing?.seed ?? '', 'base64url')).toEqual(Buffer.alloc(16, 1));
  });

  test('that leads to a split counts under its variants: the rule has no number', () => {
    const rule = { ...ruleTo('rule'), then: { split: [leading('a'), leading('b')] } };
    const fields = { rules: [rule], passQuery: false, paused: false };
    const sources = { campaign: '', nowMs: 0, seenOf: () => undefined };
    const stored = storedRouting(fields, undefined, { ...sources, randomBytes: (bytes) => bytes });
    expect(stored?.labels).toEqual([{ name: 'a' }, { name: 'b' }]);
  });
});

describe('when all 58 are taken', () => {
  /** Two sets of 28 and one of 2. */
  function fullCode(): EditedCode {
    const code = new EditedCode();
    for (const first of [0, 28, 56]) code.edit(names.slice(first, Math.min(first + 28, labelsMax)));
    expect(code.routing?.labels).toHaveLength(labelsMax);
    return code;
  }
  const codeOf = (edit: () => void): string => {
    try {
      edit();
    } catch (error) {
      return error instanceof Failure ? error.code : String(error);
    }
    return 'none';
  };

  test('one without scans is given back, after a minute', () => {
    const code = fullCode();
    for (const label of names.slice(56, 58)) code.scan(label);
    code.nowMs += minute - 1;
    expect(codeOf(() => code.edit(['new']))).toBe('labels_exhausted');
    code.nowMs += 1;
    code.edit(['new']);
    expect(code.numberOf('new')).toBe(1);
    expect(code.routing?.labels).toHaveLength(labelsMax);
    code.edit(['l0', 'l57']);
    expect([code.numberOf('l0'), code.numberOf('l57')]).toEqual([2, 58]);
  });

  test('none with scans is, nor any where scans cannot be read', () => {
    const code = fullCode();
    code.nowMs += minute;
    expect(codeOf(() => code.edit(['new'], 'knows none'))).toBe('labels_exhausted');
    for (let number = 1; number <= labelsMax; number++) code.scans.set(number, new Set(['x']));
    code.scans.delete(7);
    expect(codeOf(() => code.edit(['new', 'newer']))).toBe('labels_exhausted');
    code.edit(['new']);
    expect(code.numberOf('new')).toBe(7);
  });
});
