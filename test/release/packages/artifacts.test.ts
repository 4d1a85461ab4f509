import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  buildTime,
  imageLibraries,
  writeArtifacts,
  type ArtifactInputs,
} from '../../../config/release/packages/artifacts.ts';
import { licencesText } from '../../../config/release/packages/licences.ts';

const root = new URL('../../..', import.meta.url).pathname;

let folders: string[] = [];
beforeEach(() => {
  folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'quietzone-release-')));
});
afterEach(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const packages = [{ name: 'a', version: '1.0.0', licence: 'MIT', texts: ['text of a'] }];

const inputsOf = (folder: string): ArtifactInputs => ({
  root,
  folder,
  target: 'linux-x64',
  version: '1.2.3',
  commit: 'c0ffee',
  time: new Date('2026-11-22T10:00:00Z'),
  glibc: '2.34',
  runtime: { id: '0123456789abcdef', files: [] },
  natives: [],
  packages,
  licences: licencesText('1.2.3', packages),
  libraries: [],
  level: 3,
});

it('two runs in two folders write the same files', async () => {
  const names: string[][] = [];
  for (const folder of folders) {
    writeFileSync(join(folder, 'quietzone'), 'program');
    names.push(await writeArtifacts(inputsOf(folder)));
  }
  expect(names).toEqual([
    [
      'quietzone.zst',
      'quietzone_1.2.3_amd64.deb',
      'quietzone-1.2.3-oci.tar',
      'quietzone.cdx.json',
      'THIRD-PARTY.txt',
    ],
    names[0],
  ]);
  const [one = '', other = ''] = folders;
  for (const name of names[0] ?? []) {
    expect(readFileSync(join(one, name)).equals(readFileSync(join(other, name)))).toBe(true);
  }
  expect(String(zstdDecompressSync(readFileSync(join(one, 'quietzone.zst'))))).toBe('program');
  expect(readFileSync(join(one, 'THIRD-PARTY.txt'), 'utf8')).toContain('text of a');
});

it('an image without the packages of its libraries is refused', async () => {
  const [folder = ''] = folders;
  await expect(imageLibraries(root, 'linux-x64', { IMAGE_LIBRARIES: folder })).rejects.toThrow(
    /^Cannot find libc6_.*_amd64\.deb/,
  );
});

it('the time is that of the environment, in whole seconds', () => {
  expect(buildTime(root, { SOURCE_DATE_EPOCH: '1000' })).toEqual(new Date(1_000_000));
  expect(() => buildTime(root, { SOURCE_DATE_EPOCH: 'now' })).toThrow('expected seconds since');
});
