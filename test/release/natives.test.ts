import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nativesOf, targets } from '../../config/release/natives.ts';

const modules = join(import.meta.dirname, '../../node_modules');
const target = targets.find((name) => name === `linux-${process.arch}`)!;

it('every native file has a package and its version', () => {
  const natives = nativesOf(target, modules);
  expect(natives.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['native/uws.node', 'native/lmdb.node']),
  );
  for (const { package: from, version } of natives) expect(`${from} ${version}`).toMatch(/^\S+ \d/);
  expect(natives[0]).toMatchObject({ folder: 'uWebSockets.js', package: 'uws-pack' });
});

it('a package that is not installed is named', () => {
  expect(() => nativesOf(target, '/nowhere')).toThrow(
    /^Cannot find a \.node file in @img\/sharp-linux-\w+\/lib$/,
  );
});
