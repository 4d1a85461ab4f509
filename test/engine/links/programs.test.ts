/** Memory of programs in the link table: all of it comes back, and a change that does not fit leaves nothing behind. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keepScansLeft } from '../../../src/engine/links/layout.ts';
import { LinkReader } from '../../../src/engine/links/reader.ts';
import { programBytesMax } from '../../../src/engine/routes/program-layout.ts';
import { taggedProgram } from './routed.ts';
import { createRandom, linkOf, openTable, read, readProgram } from './table.ts';
import { runs } from '../../seconds/runs.ts';

/** Small ones mostly, and up to the largest there can be. */
const programs = Array.from({ length: 60 }, (_, no) => taggedProgram(no, Math.floor(1.19 ** no)));
const largest = new Uint8Array(programBytesMax);
largest.set(taggedProgram(1, 40_000));
// Words in all; the rest is not looked at.
new DataView(largest.buffer).setUint32(4, programBytesMax / 4, true);

test('memory of programs of all sizes comes back through 200,000 changes of a few links', () => {
  const { writer, reader } = openTable({ arenaBytesMax: 2 ** 26 });
  const random = createRandom(3);
  const changes = 200_000;
  let half = 0;
  for (let n = 0; n < changes; n++) {
    const no = random(8);
    const kind = random(10);
    reader.enter();
    if (kind === 0) writer.delete(`KEY${no}`);
    else {
      const program = kind < 3 ? undefined : programs[random(programs.length)];
      const scansLeft = [-1, keepScansLeft, 5][n % 3]!;
      const target = `https://example.com/${'t'.repeat(n % 50)}`;
      writer.put(linkOf(`KEY${no}`, { codeNo: n, target, program, scansLeft }));
    }
    reader.leave();
    if (n === changes / 2) half = writer.bytesUsed;
  }
  expect(writer.bytesUsed).toBe(half);
  writer.free();
  writer.free();
  expect([writer.bytesWaiting, writer.bytesLost]).toEqual([0, 0]);
});

describe('a full arena', () => {
  const full = expect.objectContaining({ name: 'Failure', code: 'storage_full' });

  test('refuses a change whole: its program, cell and entry are free, the link is as before', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30_000 }),
        fc.integer({ min: 1, max: 2_000 }),
        (bytes, size) => {
          const table = openTable({ arenaBytesMax: 2 ** 17 });
          const { writer, reader } = table;
          const program = taggedProgram(7, bytes, 'Asia/Kathmandu');
          const target = `https://example.com/${'t'.repeat(size)}`;
          const fill = (): void => {
            for (let no = 0; ; no++)
              writer.put(linkOf(`F${no}`, { target, program, scansLeft: 3 }));
          };
          expect(fill).toThrow(full);
          const stored = writer.count;
          const [free, first] = [writer.bytesFree, read(reader, 'F0')];
          // All that a change may leave behind: of a known link, of a new one, with and without a counter.
          for (let round = 0; round < 3; round++) {
            for (const [key, scansLeft] of [
              ['F0', -1],
              ['F0', keepScansLeft],
              ['NEW', 5],
            ] as const) {
              const longer = { target: `${target}${'l'.repeat(3_000)}`, scansLeft, program };
              expect(() => writer.put(linkOf(key, longer))).toThrow(full);
            }
          }
          expect([writer.bytesFree, writer.count]).toEqual([free, stored]);
          if (stored < 2) return;
          expect(read(reader, 'F0')).toEqual(first);
          for (const key of ['F0', 'F1']) writer.delete(key);
          writer.free();
          writer.put(linkOf('AGAIN', { program, scansLeft: 3 }));
          expect(readProgram(reader, reader.find('AGAIN', 0))).toContain('https://t.example/7/');
        },
      ),
      { numRuns: runs(20) },
    );
  });

  test('holds as many of the largest programs as it has space for, and goes on when they are gone', () => {
    const table = openTable({ arenaBytesMax: 2 ** 20 });
    const { writer, reader } = table;
    for (let round = 0; round < 20; round++) {
      for (let no = 0; no < 5; no++) {
        writer.put(linkOf(`L${no}`, { program: largest }));
        expect(readProgram(reader, reader.find(`L${no}`, 0))).toContain('https://t.example/last/1');
      }
      expect(() => {
        for (let no = 5; no < 9; no++) writer.put(linkOf(`L${no}`, { program: largest }));
      }).toThrow(full);
      for (let no = 0; no < 9; no++) writer.delete(`L${no}`);
      writer.free();
      writer.free();
    }
    expect([writer.bytesWaiting, writer.bytesLost]).toEqual([0, 0]);
  });
});

test.each([1, 2, 3, 4, 5])(
  'quarantine takes three blocks a change, and refuses before one does not fit (%i)',
  (plain) => {
    const { memory, writer, reader } = openTable({ arenaBytesMax: 2 ** 25 });
    const [small, other] = [taggedProgram(1, 1), taggedProgram(2, 1)];
    writer.put(linkOf('HELD', { program: small, scansLeft: 5 }));
    reader.enter();
    const handle = reader.find('HELD', 0);
    const before = readProgram(reader, handle);
    // Of one block each, so that the bound comes in the midst of a change of three.
    for (let no = 0; no < plain; no++) writer.put(linkOf('PLAIN', { codeNo: no }));
    let changes = 0;
    const change = (): void => {
      for (; changes < 70_000; changes++) {
        const scansLeft = changes % 2 === 0 ? -1 : 5;
        writer.put(linkOf('HELD', { codeNo: changes, program: other, scansLeft }));
      }
    };
    const refused = expect.objectContaining({ name: 'Failure', code: 'overloaded' });
    expect(change).toThrow(refused);
    // Half of the changes free two blocks, half of them three.
    expect(Math.abs(changes - 65_536 / 2.5)).toBeLessThan(3);
    expect(readProgram(reader, handle)).toBe(before);
    expect(change).toThrow(refused);
    writer.delete('HELD');
    expect(read(reader, 'HELD')).toMatchObject({ state: 'deleted' });
    // The successor of a thread that was stuck frees what it held.
    expect(new LinkReader(memory, 0).find('HELD', 0)).toBeGreaterThan(0);
    expect(change).not.toThrow();
    writer.free();
    expect(writer.bytesWaiting).toBe(0);
  },
);
