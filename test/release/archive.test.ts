import fc from 'fast-check';
import { extract } from 'tar-stream';
import { expect, it } from 'vitest';
import { readAr, readTar, writeAr, writeTar, type Entry } from '../../config/release/archive.ts';

const time = new Date('2026-11-22T10:00:00Z');
const file = (path: string, content = path): Entry => ({
  type: 'file',
  path,
  mode: 0o644,
  content: Buffer.from(content),
});

it('a tar comes back with the folders that its entries lie in, sorted', async () => {
  const entries: Entry[] = [
    file('usr/bin/b'),
    { type: 'folder', path: 'data', mode: 0o700, owner: 65_532 },
    { type: 'link', path: 'lib', mode: 0o777, target: 'usr/lib' },
    file('usr/bin/a', ''),
  ];
  const read = await readTar(await writeTar(entries, { time, prefix: './' }));
  expect(read.map(({ path, type, mode, owner }) => [path, type, mode, owner])).toEqual([
    ['data', 'folder', 0o700, 65_532],
    ['lib', 'link', 0o777, 0],
    ['usr', 'folder', 0o755, 0],
    ['usr/bin', 'folder', 0o755, 0],
    ['usr/bin/a', 'file', 0o644, 0],
    ['usr/bin/b', 'file', 0o644, 0],
  ]);
  expect(read.at(-1)).toMatchObject({ content: Buffer.from('usr/bin/b') });
  expect(read[1]).toMatchObject({ target: 'usr/lib' });
});

it('a tar has the same bytes in whatever order its entries are given', async () => {
  const entries = [file('c'), file('a/b'), file('b')];
  const one = await writeTar(entries, { time });
  const other = await writeTar(entries.toReversed(), { time });
  expect(one.equals(other)).toBe(true);
});

it('every header of a tar has the given time and the names that dpkg wants', async () => {
  const stream = extract();
  stream.end(await writeTar([file('a/b')], { time, prefix: './' }));
  const seen: string[] = [];
  for await (const entry of stream) {
    expect(entry.header.mtime).toEqual(time);
    seen.push(entry.header.name);
    entry.resume();
  }
  expect(seen).toEqual(['./', './a/', './a/b']);
});

it('a path that is longer than a name may be comes back', async () => {
  const path = `usr/lib/quietzone/runtime/0123456789abcdef/${'native/'.repeat(8)}libvips-cpp.so.8.18.7`;
  expect(path.length).toBeGreaterThan(100);
  const [entry] = (await readTar(await writeTar([file(path)], { time }))).filter(
    ({ type }) => type === 'file',
  );
  expect(entry?.path).toBe(path);
});

it.each([
  ['a path given twice', [file('a'), file('a')], 'Cannot pack a: it is given twice'],
  ['a path that leaves the archive', [file('../a')], 'expected a path inside the archive'],
  ['a path from the root', [file('/a')], 'expected a path inside the archive'],
  ['a file below a file', [file('a'), file('a/b')], 'a is a file, expected a folder'],
  ['a name too long for ustar', [file('a'.repeat(100))], 'expected at most 99 bytes of name'],
  ['a path too long for ustar', [file('a/'.repeat(75) + 'b')], 'at most 150 bytes of path'],
])('a tar refuses %s', async (_, entries, message) => {
  await expect(writeTar(entries, { time })).rejects.toThrow(message);
});

it('an ar archive comes back, members of odd sizes too', () => {
  const member = fc.record({
    name: fc.stringMatching(/^[a-z.-]{1,16}$/),
    content: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
  });
  fc.assert(
    fc.property(fc.array(member, { maxLength: 4 }), (members) => {
      expect(readAr(writeAr(members, time))).toEqual(members);
    }),
  );
});

it('an ar archive that is cut off, or none, is refused', () => {
  const bytes = writeAr([{ name: 'a', content: Buffer.from('four') }], time);
  expect(() => readAr(bytes.subarray(0, -1))).toThrow('its member at byte 8 is cut off');
  expect(() => readAr(bytes.subarray(0, 30))).toThrow('its member at byte 8 is cut off');
  expect(() => readAr(Buffer.from('zip'))).toThrow('expected an ar archive');
  expect(() => writeAr([{ name: 'a'.repeat(17), content: bytes }], time)).toThrow('16 bytes');
});
