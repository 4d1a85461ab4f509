import { join } from 'node:path';
import { expect, it } from 'vitest';
import { assertAddon, nativesOf, targets } from '../../config/release/natives.ts';

const modules = join(import.meta.dirname, '../../node_modules');
const target = targets.find((name) => name === `linux-${process.arch}`)!;

it('every native file has a package and its version', () => {
  const natives = nativesOf(target, modules, {});
  expect(natives.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['native/uws.node', 'native/lmdb.node']),
  );
  for (const { package: from, version } of natives) expect(`${from} ${version}`).toMatch(/^\S+ \d/);
  expect(natives[0]).toMatchObject({ folder: 'uWebSockets.js', package: 'uws-pack' });
});

it('a file given by hand says so, and keeps the licenses of the package that it replaces', () => {
  const natives = nativesOf(target, modules, { UWS_NODE: 'uws.node' });
  expect(natives.find(({ name }) => name === 'native/uws.node')).toEqual({
    name: 'native/uws.node',
    file: 'uws.node',
    folder: 'uWebSockets.js',
    package: 'given by UWS_NODE',
    version: '',
  });
});

it('a package that is not installed is named', () => {
  expect(() => nativesOf(target, '/nowhere', {})).toThrow(
    /^Cannot find a \.node file in @img\/sharp-linux-\w+\/lib$/,
  );
});

it('a file that is no addon for this Node is refused', () => {
  expect(() => assertAddon(import.meta.filename)).toThrow(
    "natives.test.ts in, expected an addon for Node's module version 127",
  );
  for (const { file } of nativesOf(target, modules, {})) assertAddon(file);
});
