/** A table that is loaded from its image is the table of the moment when the writing began, whatever changed meanwhile. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { ImageFault, ImageFile } from '../../src/links/image.ts';
import { writeImage } from '../../src/links/image-writer.ts';
import { taggedProgram } from './routed.ts';
import { linkOf, openTable, read } from './table.ts';

type Table = ReturnType<typeof openTable>;
type Step = readonly [
  kind: 'put' | 'route' | 'zone' | 'limit' | 'delete' | 'damage' | 'free',
  key: number,
  size: number,
];

const keys = 40;
const nameOf = (key: number): string => `KEY${key}`;

function folderPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-image-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'links.image');
}

const steps = fc.array(
  fc.tuple(
    fc.constantFrom<Step[0]>(
      'put',
      'put',
      'route',
      'route',
      'zone',
      'limit',
      'delete',
      'damage',
      'free',
    ),
    fc.integer({ min: 0, max: keys - 1 }),
    fc.integer({ min: 1, max: 60 }),
  ),
  { maxLength: 60 },
);

function apply({ writer }: Table, [kind, key, size]: Step, no: number): void {
  const target = `https://example.com/${'x'.repeat(size)}`;
  const link = linkOf(nameOf(key), { codeNo: no, target });
  if (kind === 'put') writer.put(link);
  else if (kind === 'route') writer.put({ ...link, program: taggedProgram(no, size * 99) });
  else if (kind === 'zone') writer.put({ ...link, program: taggedProgram(no, size, 'UTC') });
  else if (kind === 'limit') writer.put({ ...link, scansLeft: size });
  else if (kind === 'delete') writer.delete(nameOf(key));
  else if (kind === 'damage') writer.put({ ...link, state: 'damaged' });
  else writer.free();
}

/** Cells of limits apart: an image does not vouch for them. */
const stateOf = ({ reader }: Table) =>
  Array.from({ length: keys }, (_, key) => {
    const known = read(reader, nameOf(key));
    return known && { ...known, scansLeft: Math.sign(known.scansLeft) };
  });

async function write(table: Table, path: string, onPiece = (): void => undefined) {
  const { memory, writer } = table;
  const codes = { limited: Int32Array.of(3, 4), damaged: Int32Array.of(5) };
  const task = {
    path,
    memory,
    writer,
    codes,
    number: 7,
    token: 8,
    isStopped: () => false,
    onPiece,
  };
  return await writeImage(task);
}

function load(path: string): Table & { codes: object } {
  const file = ImageFile.open(path);
  const table = openTable({ layout: file.head });
  try {
    return { ...table, codes: file.load(table.memory, table.writer) };
  } finally {
    file.close();
  }
}

test('is exact while links change, end, grow and are limited, and goes on as the table does', async () => {
  await fc.assert(
    fc.asyncProperty(steps, steps, steps, async (before, meanwhile, after) => {
      const path = join(mkdtempSync(join(tmpdir(), 'quietzone-image-')), 'links.image');
      const table = openTable();
      for (const [no, step] of before.entries()) apply(table, step, no);
      const then = stateOf(table);
      const left = [...meanwhile.entries()];
      const share = Math.ceil(left.length / 4);
      await write(table, path, () => {
        for (const [no, step] of left.splice(0, share)) apply(table, step, 1_000 + no);
      });
      const loaded = load(path);
      expect(stateOf(loaded)).toEqual(then);
      expect(loaded.writer.count + loaded.writer.tombstones).toBe(
        then.filter((known) => known !== undefined).length,
      );
      // What the table had seen already, and what comes then: blocks are used again.
      const all = [...meanwhile, ...after, ...meanwhile];
      for (const one of [table, loaded]) {
        if (one === table) for (const [no, step] of left) apply(one, step, no);
        for (const [no, step] of all.entries()) apply(one, step, 2_000 + no);
        for (let key = 0; key < keys; key++) apply(one, ['put', key, 1 + key], 3_000 + key);
      }
      expect(stateOf(loaded)).toEqual(stateOf(table));
      rmSync(join(path, '..'), { recursive: true });
    }),
    { numRuns: 60 },
  );
});

test('keeps what its caller adds, and blocks that wait are free after a start', async () => {
  const path = folderPath();
  const table = openTable();
  table.reader.enter();
  for (let round = 0; round < 50; round++) table.writer.put(linkOf('A', { codeNo: round }));
  expect(table.writer.bytesWaiting).toBeGreaterThan(0);
  expect(await write(table, path)).toBe(readFileSync(path).length);
  const { writer, codes } = load(path);
  expect(codes).toEqual({ limited: Int32Array.of(3, 4), damaged: Int32Array.of(5) });
  expect(writer.bytesWaiting).toBe(0);
  expect(writer.bytesFree).toBe(table.writer.bytesFree + table.writer.bytesWaiting);
  expect(ImageFile.open(path).head).toMatchObject({ number: 7, token: 8 });
});

test('no freed block is used while it is written, and all are afterwards', async () => {
  const table = openTable();
  table.writer.put(linkOf('A'));
  for (let round = 0; round < 200; round++) table.writer.put(linkOf('A', { codeNo: round }));
  const before = table.writer.bytesUsed - table.writer.bytesFree;
  let pieces = 0;
  await write(table, folderPath(), () => {
    pieces += 1;
    const waiting = table.writer.bytesWaiting;
    for (let round = 0; round < 200; round++) table.writer.put(linkOf('A', { codeNo: round }));
    table.writer.free();
    if (pieces < 3) expect(table.writer.bytesWaiting).toBeGreaterThan(waiting);
  });
  table.writer.put(linkOf('A'));
  table.writer.free();
  table.writer.free();
  expect(table.writer.bytesWaiting).toBe(0);
  expect(table.writer.bytesUsed - table.writer.bytesFree).toBeLessThanOrEqual(before + 100);
});

test('is given up, and no change waits, when slots grow or are growing, and when quarantine is half full', async () => {
  const path = folderPath();
  const growing = openTable();
  const more = Array.from({ length: 770 }, (_, no) => linkOf(`G${no}`));
  const grow = (): void => {
    for (const link of more.splice(0)) growing.writer.put(link);
  };
  expect(await write(growing, path, grow)).toBeUndefined();
  expect(await write(growing, path)).toBeUndefined();
  for (let round = 0; round < 100; round++) growing.writer.put(linkOf('A'));
  expect(await write(growing, path)).toBeGreaterThan(0);
  rmSync(path);
  const busy = openTable();
  const churn = (): void => {
    for (let round = 0; round < 40_000; round++) busy.writer.put(linkOf('A', { codeNo: round }));
  };
  expect(await write(busy, path, churn)).toBeUndefined();
  expect([existsSync(path), existsSync(`${path}.new`)]).toEqual([false, false]);
});

test('with any byte other or missing is refused, and the table is empty then', async () => {
  const path = folderPath();
  const table = openTable();
  for (let key = 0; key < keys; key++) apply(table, ['limit', key, key + 1], key);
  await write(table, path);
  const sound = readFileSync(path);
  const refused = (bytes: Uint8Array): void => {
    writeFileSync(path, bytes);
    const file = ((): ImageFile | undefined => {
      try {
        return ImageFile.open(path);
      } catch (error) {
        expect(error).toBeInstanceOf(ImageFault);
        return undefined;
      }
    })();
    if (file === undefined) return;
    const fresh = openTable({ layout: file.head });
    expect(() => file.load(fresh.memory, fresh.writer)).toThrow(ImageFault);
    file.close();
    expect(stateOf(fresh).every((known) => known === undefined)).toBe(true);
    for (let key = 0; key < keys; key++) apply(fresh, ['put', key, key + 1], key);
    expect(fresh.writer.count).toBe(keys);
  };
  fc.assert(
    fc.property(fc.nat(sound.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const bytes = Buffer.from(sound);
      bytes[at] = bytes[at]! ^ flip;
      refused(bytes);
      refused(sound.subarray(0, at));
    }),
    { numRuns: 300 },
  );
  refused(Buffer.concat([sound, Buffer.alloc(8)]));
});
