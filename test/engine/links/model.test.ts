/** The link table against a plain Map, over random changes, growth, held entries and reuse. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepScansLeft, type Link } from '../../../src/engine/links/layout.ts';
import { taggedProgram } from './routed.ts';
import { linkOf, openTable, read, readProgram, textOf } from './table.ts';
import { runs } from '../../seconds/runs.ts';

interface ModelLink {
  readonly link: Link;
  /** Negative when a lowered limit is overdrawn; undefined = no limit. */
  readonly scansLeft: number | undefined;
}

const key = fc.integer({ min: 0, max: 30 });
const put = fc.record({
  kind: fc.constant('put' as const),
  key,
  length: fc.oneof(fc.integer({ min: 0, max: 120 }), fc.constantFrom(8_180, 8_181)),
  expires: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 8.64e15 })),
  scans: fc.integer({ min: -2, max: 5 }),
  no: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  /** Of a program; 0 = none. */
  bytes: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 40_000 }) },
  ),
});
const onKey = fc.constantFrom(...(['delete', 'putGone', 'putDamaged', 'take', 'hold'] as const));
const onTable = fc.constantFrom('leave' as const, 'free' as const);
const addScans = fc.constant('addScans' as const);
const grow = fc.constant('grow' as const);
const more = fc.integer({ min: -3, max: 3 });
const step = fc.oneof(
  { weight: 6, arbitrary: put },
  { weight: 5, arbitrary: fc.record({ kind: onKey, key }) },
  { weight: 1, arbitrary: fc.record({ kind: addScans, key, scans: more }) },
  { weight: 1, arbitrary: fc.record({ kind: grow, count: fc.integer({ min: 1, max: 700 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: onTable }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const none = new Int32Array();

/** Applies steps to the table and to a Map; what was found in a cycle must hold until its end. */
class Model {
  readonly map = new Map<string, ModelLink>();
  readonly #table = openTable();
  #held: Array<{ handle: number; text: string; words: Int32Array; program: Int32Array }> = [];
  #extra = 0;

  constructor() {
    this.#table.reader.enter();
  }

  apply(step: Step): void {
    const { writer, reader } = this.#table;
    switch (step.kind) {
      case 'put':
        this.#put(step);
        break;
      case 'delete':
      case 'putGone':
        this.#delete(keyOf(step.key), step.kind);
        break;
      case 'putDamaged':
        this.#damage(keyOf(step.key));
        break;
      case 'take': {
        const handle = reader.find(keyOf(step.key), 0);
        if (handle !== 0) expect(reader.takeScan(handle)).toBe(this.#take(keyOf(step.key)));
        break;
      }
      case 'addScans': {
        const known = this.map.get(keyOf(step.key));
        if (known?.link.state !== 'live' || known.scansLeft === undefined) break;
        writer.addScans(keyOf(step.key), step.scans);
        this.map.set(keyOf(step.key), { ...known, scansLeft: known.scansLeft + step.scans });
        break;
      }
      case 'hold': {
        const handle = reader.find(keyOf(step.key), 0);
        if (handle === 0 || reader.state(handle) !== 'live') break;
        const program = reader.program(handle);
        const at = program?.fallback ?? 0;
        // Where the bytes lie, and as they are now.
        const words = program?.words.subarray(at, at + 1 + (program.words[at]! + 3) / 4) ?? none;
        const text = textOf(reader.target(handle));
        this.#held.push({ handle, text, words, program: words.slice() });
        break;
      }
      case 'grow':
        for (let i = 0; i < step.count; i += 1) {
          const link = linkOf(`GROW-${this.#extra}`, { codeNo: this.#extra });
          writer.put(link);
          this.map.set(link.key, { link, scansLeft: undefined });
          this.#extra += 1;
        }
        break;
      case 'leave':
        this.#endCycle();
        break;
      case 'free':
        writer.free();
        break;
    }
  }

  check(): void {
    const { writer, reader } = this.#table;
    this.#endCycle();
    let live = 0;
    for (const [key, { link, scansLeft }] of this.map) {
      const { codeNo, workspaceNo, target, expiresAtMs, state } = link;
      const isLive = state === 'live';
      const left = isLive && scansLeft !== undefined ? Math.max(0, scansLeft) : undefined;
      const numbers = { codeNo, workspaceNo, state, scansLeft: left ?? (isLive ? -1 : 0) };
      expect(read(reader, key)).toEqual(
        isLive ? { ...numbers, target, expiresAtMs, ...saysOf(link) } : numbers,
      );
      expect(writer.scansLeft(key)).toBe(left);
      if (isLive) live += 1;
    }
    expect(writer.count).toBe(live);
    expect(writer.tombstones).toBe(this.map.size - live);
    expect(read(reader, 'NEVER-PUT')).toBeUndefined();
    // Of what changed, nothing is left: a table that has only these links uses as much.
    reader.leave();
    for (let time = 0; time < 2; time++) writer.free();
    const fresh = openTable().writer;
    for (const { link, scansLeft } of this.map.values()) {
      fresh.put({ ...link, scansLeft: scansLeft === undefined ? -1 : Math.max(0, scansLeft) });
    }
    expect([writer.bytesWaiting, writer.bytesLost]).toEqual([0, 0]);
    expect(writer.bytesUsed - writer.bytesFree).toBe(fresh.bytesUsed - fresh.bytesFree);
  }

  #put(step: Extract<Step, { kind: 'put' }>): void {
    const target = `https://e.co/${'a'.repeat(step.length)}`.slice(0, 8_192);
    const key = keyOf(step.key);
    const link = linkOf(key, {
      target,
      expiresAtMs: step.expires,
      scansLeft: step.scans,
      codeNo: step.no,
      workspaceNo: (step.no ^ 1) >>> 0,
      ...(step.bytes > 0 && { program: taggedProgram(step.no, step.bytes) }),
    });
    const before = this.map.get(key);
    const kept = before?.link.state === 'live' ? before.scansLeft : undefined;
    const set = step.scans === -1 ? undefined : step.scans;
    this.#table.writer.put(link);
    this.map.set(key, { link, scansLeft: step.scans === keepScansLeft ? kept : set });
  }

  #delete(key: string, kind: 'delete' | 'putGone'): void {
    const { writer } = this.#table;
    const known = this.map.get(key);
    const fresh = linkOf(key, kind === 'delete' ? { codeNo: 0, workspaceNo: 0 } : { codeNo: 9 });
    if (kind === 'delete') writer.delete(key);
    else writer.put({ ...fresh, state: 'deleted', target: '' });
    this.map.set(key, {
      link: { ...(known?.link ?? fresh), state: 'deleted' },
      scansLeft: undefined,
    });
  }

  /** What is deleted stays so. */
  #damage(key: string): void {
    const known = this.map.get(key)?.link ?? linkOf(key, { codeNo: 7 });
    this.#table.writer.put({ ...linkOf(key, { codeNo: 7 }), state: 'damaged', target: '' });
    const state = known.state === 'deleted' ? 'deleted' : 'damaged';
    this.map.set(key, { link: { ...known, state }, scansLeft: undefined });
  }

  #take(key: string): boolean {
    const known = this.map.get(key);
    if (known === undefined || known.link.state !== 'live') return false;
    if (known.scansLeft === undefined) return true;
    if (known.scansLeft <= 0) return false;
    this.map.set(key, { ...known, scansLeft: known.scansLeft - 1 });
    return true;
  }

  #endCycle(): void {
    const { reader } = this.#table;
    for (const { handle, text, words, program } of this.#held) {
      expect(textOf(reader.target(handle))).toBe(text);
      expect(words).toEqual(program);
    }
    this.#held = [];
    reader.leave();
    reader.enter();
  }
}

/** What a reader finds of the program of a link, from a table that has it alone. */
function saysOf({ program }: Link): object {
  if (program === undefined) return {};
  const { writer, reader } = openTable({ linksExpected: 1 });
  writer.put(linkOf('ONLY', { program }));
  return { program: readProgram(reader, reader.find('ONLY', 0)) };
}

/** Keys of every length from 1 to 64. */
function keyOf(index: number): string {
  return `${index}`.padStart(1 + ((index * 13) % 64), 'K-');
}

describe('LinkWriter and LinkReader', () => {
  it('agree with a Map over random changes, growth, held entries and reuse', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 250, size: 'max' }), (steps) => {
        const model = new Model();
        for (const one of steps) model.apply(one);
        model.check();
      }),
      { numRuns: runs(15) },
    );
  });

  it('find every key at every moment of every growth', () => {
    const { writer, reader } = openTable();
    const codeNoOf = (key: string): number =>
      reader.codeNo(reader.find(key, 0) || expect.fail(key));
    for (let n = 0; n < 10_000; n += 1) {
      writer.put(linkOf(`N${n}`, { codeNo: n }));
      const again = n >>> 1;
      if (n % 7 === 0) writer.put(linkOf(`N${again}`, { codeNo: again, target: 'https://b.co/' }));
      const probe = (Math.imul(n, 0x9e3779b1) >>> 0) % (n + 1);
      if (codeNoOf(`N${probe}`) !== probe || reader.find(`M${n}`, 0) !== 0) expect.fail(`${n}`);
    }
    expect(writer.count).toBe(10_000);
  });
});
