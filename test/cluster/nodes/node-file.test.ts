/** What a node knows of itself: written whole, read with care, and never taken for another node's. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  checkNodeFile,
  nodeFileName,
  readNodeFile,
  writeNodeFile,
} from '../../../src/cluster/nodes/node-file.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

const identity = {
  cluster: 'cl_1',
  node: 'n_1',
  name: 'berlin-1',
  role: 'all',
  journals: [1, 2],
  run: 1,
} as const;

test('it is read as it was written, by its owner alone', () => {
  const folder = temporaryFolder();
  expect(readNodeFile(folder)).toBeUndefined();
  writeNodeFile(folder, identity);
  expect(readNodeFile(folder)).toEqual(identity);
  expect(statSync(join(folder, nodeFileName)).mode & 0o777).toBe(0o600);
  const edge = { ...identity, role: 'edge', access: { token: 't', cores: ['http://a'] } } as const;
  writeNodeFile(folder, edge);
  expect(readNodeFile(folder)).toEqual(edge);
});

const wrong = [
  { ...identity, journals: [-1] },
  { ...identity, access: { token: 't' } },
];
test.each(['', '{', 'null', '[]', '{}', ...wrong.map((one) => JSON.stringify(one))])(
  'damaged, it is refused with what to do: %s',
  (text) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, nodeFileName), text);
    expect(() => readNodeFile(folder)).toThrow(/cluster.json: it is damaged, .* from a backup/);
  },
);

test('another name, and a role with other data, are refused; a core may redirect or not', () => {
  const { name, role } = identity;
  checkNodeFile(identity, { name, role });
  checkNodeFile(identity, { name, role: 'core' });
  expect(() => checkNodeFile(identity, { name: 'paris', role })).toThrow(
    /^Cannot start as paris: the data folder is of the node berlin-1; set cluster.nodeName/,
  );
  expect(() => checkNodeFile(identity, { name, role: 'edge' })).toThrow(
    /^Cannot start with the role edge: the data folder is of a node with the role all/,
  );
  expect(() => checkNodeFile({ ...identity, role: 'edge' }, { name, role: 'core' })).toThrow(
    /^Cannot start with the role core/,
  );
});
