/**
 * Data files that are damaged in seeded ways: the walk names a fault, or LMDB reads the whole file, with every
 * record that was in it, and writes to it. LMDB runs in a process of its own, so that its death is a fault of the walk.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { walkDataFile } from '../../../src/store/data-file/walk.ts';
import { sharedFolder } from '../temporary-management.ts';
import { type Contents, createRandom, makeStore, type Random } from './store-file.ts';

const pageBytes = 4_096;
const seed = 12;
const folder = sharedFolder();
let sound: Buffer;
let contents: Contents;
let reader: ChildProcess | undefined;

beforeAll(async () => {
  const path = join(folder, 'sound.mdb');
  contents = await makeStore(path, seed);
  sound = readFileSync(path);
});
afterAll(() => void reader?.kill());

type Answer = Partial<Contents> & { readonly error?: string; readonly died?: string };

/** What LMDB makes of a file. */
function readWithLmdb(path: string): Promise<Answer> {
  const child = (reader ??= fork(new URL('reader.ts', import.meta.url), { stdio: 'ignore' }));
  return new Promise((done) => {
    const onExit = (code: number | null, signal: string | null): void => {
      reader = undefined;
      done({ died: signal ?? String(code) });
    };
    child.once('exit', onExit);
    child.once('message', (answer: Answer) => {
      child.off('exit', onExit);
      done(answer);
    });
    child.send(path);
  });
}

function flip(bytes: Buffer, at: number, random: Random): Buffer {
  bytes[at]! ^= 1 << random(8);
  return bytes;
}
const pageIn = (bytes: Buffer, random: Random): number =>
  random(bytes.length / pageBytes) * pageBytes;

type Damage = (bytes: Buffer, random: Random) => Buffer;

/** Bytes of values stay as they are: elsewhere they may differ, which a checksum of each record finds. */
const ofPagesAlone: Readonly<Record<string, Damage>> = {
  'cut off': (bytes, random) => bytes.subarray(0, random(bytes.length)),
  'a bit of a meta page': (bytes, random) =>
    flip(bytes, [0, pageBytes / 2, pageBytes][random(3)]! + random(168), random),
};
const anywhere: Readonly<Record<string, Damage>> = {
  'a page of zeros': (bytes, random) => {
    const at = pageIn(bytes, random);
    return bytes.fill(0, at, at + pageBytes);
  },
  overwritten: (bytes, random) => {
    const at = random(bytes.length);
    const end = Math.min(bytes.length, at + 1 + random(6_000));
    for (let each = at; each < end; each++) bytes[each] = random(256);
    return bytes;
  },
  'a page in the place of another': (bytes, random) => {
    const from = pageIn(bytes, random);
    bytes.copy(bytes, pageIn(bytes, random), from, from + pageBytes);
    return bytes;
  },
  'a bit': (bytes, random) => flip(bytes, random(bytes.length), random),
  'a bit of a page header': (bytes, random) =>
    flip(bytes, pageIn(bytes, random) + random(48), random),
};
/** It mostly meets values, or space that is not used. */
const seldomNamed = 'a bit';

const roundsEach = 10;

it.each(Object.entries({ ...ofPagesAlone, ...anywhere }))(
  '%s is named, or LMDB reads every record and writes',
  async (name, make) => {
    const random = createRandom(seed);
    const expected = name in ofPagesAlone ? contents : { entries: contents.entries };
    let named = 0;
    for (let round = 0; round < roundsEach; round++) {
      const path = join(folder, `${name}-${round}.mdb`);
      writeFileSync(path, make(Buffer.from(sound), random));
      const { fault } = walkDataFile(path);
      if (fault === undefined) {
        expect(await readWithLmdb(path)).toMatchObject(expected);
        continue;
      }
      named++;
      expect(fault.text).toMatch(/^page \d+ \(.+\) is (damaged|beyond the end of the file)$/);
    }
    if (name !== seldomNamed) expect(named).toBeGreaterThan(0);
  },
);

it('a sound file has every page in its place, and a file of another kind is named', () => {
  const path = join(folder, 'sound.mdb');
  expect(walkDataFile(path)).toMatchObject({ fault: undefined, entries: contents.entries });
  const other = join(folder, 'other');
  for (const text of ['', 'a text', 'x'.repeat(100_000)]) {
    writeFileSync(other, text);
    const fault = { file: other, text: 'page 0 (meta pages) is damaged' };
    expect(walkDataFile(other)).toMatchObject({ fault });
  }
});

it('branch pages alone lead to a damaged one, not to a damaged leaf', () => {
  const path = join(folder, 'leaf.mdb');
  writeFileSync(path, sound.subarray(0, sound.length / 2));
  const quick = walkDataFile(path, { readsLeaves: () => false });
  expect(quick.fault?.text).toContain('beyond the end of the file');
});
