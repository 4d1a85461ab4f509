/** Look-alikes, bounds, and reuse of memory in the link table. */
import { describe, expect, it } from 'vitest';
import { controlWord, createLinkTableMemory, keepScansLeft } from '../../src/links/layout.ts';
import { LinkReader } from '../../src/links/reader.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { linkOf, openTable, read, textOf } from './table.ts';
import { systemClock } from '../../src/system-clock.ts';

describe('find', () => {
  it('ignores case and reads I and L as 1 and O as 0 in codes that look generated', () => {
    const { writer, reader } = openTable();
    writer.put(linkOf('A1B0C1D0', { codeNo: 7 }));
    for (const path of ['/A1B0C1D0', '/a1b0c1d0', '/aIbOcLd0', '/AlBoCiDo', '/ALB0CID0']) {
      const handle = reader.find(path, 1);
      expect(handle === 0 ? path : reader.codeNo(handle)).toBe(7);
    }
  });

  it('prefers the code as written over its look-alike', () => {
    const { writer, reader } = openTable();
    writer.put(linkOf('HELL0AAA', { codeNo: 1 }));
    writer.put(linkOf('HE110AAA', { codeNo: 2 }));
    expect(reader.codeNo(reader.find('hell0aaa', 0))).toBe(1);
    expect(reader.codeNo(reader.find('heil0aaa', 0))).toBe(2);
  });

  it('folds no look-alike in other lengths or with characters that are never generated', () => {
    const { writer, reader } = openTable();
    for (const key of ['PARK1', 'PARK1-23', 'PARK1U23']) writer.put(linkOf(key));
    for (const path of ['PARKL', 'PARKL-23', 'PARKLU23']) expect(reader.find(path, 0)).toBe(0);
  });

  it('returns 0 for what is no code', () => {
    const { writer, reader } = openTable();
    writer.put(linkOf('A'.repeat(64)));
    expect(reader.find('a'.repeat(64), 0)).toBeGreaterThan(0);
    const paths = [
      '',
      '/',
      '/A/B',
      '/A%41',
      '/A B',
      '/Ä',
      '/A\u0000',
      '/\u0141BC',
      `/${'A'.repeat(65)}`,
    ];
    for (const path of paths) expect(reader.find(path, 1)).toBe(0);
    expect(reader.find('/A', 9)).toBe(0);
  });
});

describe('scans left', () => {
  it('are taken all at once, and what is below zero is told', () => {
    const { writer, reader } = openTable();
    writer.put(linkOf('LIMITED', { scansLeft: 5 }));
    writer.put(linkOf('FREE'));
    expect(reader.takeScan(reader.find('LIMITED', 0))).toBe(true);
    expect([writer.takeScansLeft('LIMITED'), writer.takeScansLeft('LIMITED')]).toEqual([4, 0]);
    expect(reader.takeScan(reader.find('LIMITED', 0))).toBe(false);
    writer.addScans('LIMITED', -3);
    expect([writer.takeScansLeft('LIMITED'), writer.scansLeft('LIMITED')]).toEqual([-3, 0]);
    writer.delete('LIMITED');
    const none = ['LIMITED', 'FREE', 'UNKNOWN'].map((key) => writer.takeScansLeft(key));
    expect(none).toEqual([undefined, undefined, undefined]);
  });
});

describe('memory', () => {
  it('does not grow under endless re-targeting, with and without a limit', () => {
    const { writer, reader } = openTable();
    writer.put(linkOf('SAME', { scansLeft: 5 }));
    let plateau = 0;
    for (let n = 0; n < 400_000; n += 1) {
      const scansLeft = n % 3 === 0 ? -1 : n % 3 === 1 ? 5 : keepScansLeft;
      reader.enter();
      writer.put(
        linkOf('SAME', { target: `https://example.com/${'t'.repeat(n % 50)}`, scansLeft }),
      );
      reader.leave();
      if (n === 20_000) plateau = writer.bytesUsed - writer.bytesFree;
    }
    writer.free();
    expect(writer.bytesWaiting).toBe(0);
    expect(writer.bytesUsed - writer.bytesFree).toBeLessThanOrEqual(plateau);
    expect(writer.bytesUsed).toBeLessThan(1_100_000);
  });

  it('keeps only header and key of a deleted link', () => {
    const { writer } = openTable();
    for (let n = 0; n < 1_000; n += 1)
      writer.put(linkOf(`LONG${n}`, { target: `https://e.co/${'t'.repeat(500)}` }));
    const before = writer.bytesUsed - writer.bytesFree;
    for (let n = 0; n < 1_000; n += 1) writer.delete(`LONG${n}`);
    writer.free();
    expect(before - (writer.bytesUsed - writer.bytesFree)).toBeGreaterThanOrEqual(500 * 1_000);
  });

  it.each([2 ** 31 - 40, -40])('frees memory while the epoch wraps from %i', (epoch) => {
    const memory = createLinkTableMemory({
      slotBytesMax: 2 ** 20,
      arenaBytesMax: 2 ** 20,
      readersMax: 2,
      linksExpected: 1,
    });
    new Int32Array(memory.control)[controlWord.epoch] = epoch;
    const writer = new LinkWriter(memory, systemClock);
    const reader = new LinkReader(memory, 0);
    const late = new LinkReader(memory, 1);
    writer.put(linkOf('WRAP'));
    late.enter();
    const held = late.target(late.find('WRAP', 0));
    for (let n = 0; n < 20_000; n += 1) {
      reader.enter();
      writer.put(linkOf('WRAP', { target: `https://wrap.co/${n % 1_000}` }));
      reader.leave();
      if (n === 8_000) {
        expect(textOf(held)).toBe('https://example.com/');
        late.leave();
      }
    }
    writer.free();
    expect(writer.bytesWaiting).toBe(0);
    // All but the one live entry and unit 0.
    expect(writer.bytesFree).toBeGreaterThan(2 ** 20 - 64);
  });

  it('waits for a reader that stays in its cycle, refuses at the bound, and recovers', () => {
    const { memory, writer, reader } = openTable();
    reader.enter();
    writer.put(linkOf('HELD', { target: 'https://example.com/first' }));
    const bytes = reader.target(reader.find('HELD', 0));
    const change = (): void => {
      for (let n = 0; n < 70_000; n += 1)
        writer.put(linkOf('HELD', { target: `https://example.com/${n}` }));
    };
    expect(change).toThrow(expect.objectContaining({ name: 'Failure', code: 'overloaded' }));
    expect(textOf(bytes)).toBe('https://example.com/first');
    writer.delete('HELD');
    expect(read(new LinkReader(memory, 1), 'HELD')).toMatchObject({ state: 'deleted' });
    // The successor of the thread that was stuck.
    expect(new LinkReader(memory, 0).find('HELD', 0)).toBeGreaterThan(0);
    expect(change).not.toThrow();
  });
});

describe('bounds', () => {
  const full = expect.objectContaining({ name: 'Failure', code: 'storage_full' });

  it('refuses with storage_full when the arena is full, keeps what it has, and still deletes', () => {
    const { writer, reader } = openTable({ arenaBytesMax: 65_536 });
    const target = `https://example.com/${'t'.repeat(1_000)}`;
    let stored = 0;
    const fill = (): void => {
      for (;;) {
        writer.put(linkOf(`F${stored}`, { codeNo: stored, target, scansLeft: 3 }));
        stored += 1;
      }
    };
    expect(fill).toThrow(full);
    expect(stored).toBeGreaterThan(50);
    expect(() => writer.put(linkOf('F0', { target: `${target}longer` }))).toThrow(full);
    for (let n = 0; n < stored; n += 1)
      expect(read(reader, `F${n}`)).toMatchObject({ codeNo: n, target });
    expect(reader.find(`F${stored}`, 0)).toBe(0);
    writer.delete('F0');
    expect(read(reader, 'F0')).toMatchObject({ state: 'deleted' });
    writer.free();
    writer.put(linkOf('SMALLER', { target: 'https://example.com/split' }));
    expect(read(reader, 'SMALLER')).toMatchObject({ target: 'https://example.com/split' });
  });

  it('refuses with storage_full when the last generation is full, and still changes and finds', () => {
    const { writer, reader } = openTable({ slotBytesMax: 8_192 * 3 });
    let stored = 0;
    const fill = (): void => {
      for (;;) {
        writer.put(linkOf(`F${stored}`, { codeNo: stored }));
        stored += 1;
      }
    };
    expect(fill).toThrow(full);
    expect(stored).toBe(2_048 * 0.875);
    writer.put(linkOf('F0', { codeNo: 0, target: 'https://example.com/changed' }));
    expect(read(reader, 'F0')).toMatchObject({ target: 'https://example.com/changed' });
    for (let n = 0; n < stored; n += 1) expect(read(reader, `F${n}`)?.codeNo).toBe(n);
    expect(reader.find('ABSENT', 0)).toBe(0);
  });

  it.each([
    ['an empty key', linkOf('')],
    ['a key of 65 characters', linkOf('K'.repeat(65))],
    ['a key with a dot', linkOf('A.B')],
    ['an empty target', linkOf('A', { target: '' })],
    ['a target of 8193 bytes', linkOf('A', { target: 't'.repeat(8_193) })],
    ['a line break in the target', linkOf('A', { target: 'https://e.co/\r\nSet-Cookie:a=b' })],
    ['a target that is not ASCII', linkOf('A', { target: 'https://e.co/ä' })],
    ['a negative expiry', linkOf('A', { expiresAtMs: -1 })],
    ['scans left that are no number', linkOf('A', { scansLeft: Number.NaN })],
  ])('treats %s as a defect', (_, link) => {
    const { writer, reader } = openTable();
    expect(() => writer.put(link)).toThrow(/^Cannot /);
    expect(reader.find('A', 0)).toBe(0);
    expect(writer.count).toBe(0);
  });

  it('has one writer and as many readers as it was made for', () => {
    const { memory } = openTable();
    expect(() => new LinkWriter(memory, systemClock)).toThrow('has a writer');
    expect(() => new LinkReader(memory, 2)).toThrow('reader 2');
  });
});
