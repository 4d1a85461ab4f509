/** A rotation of the signing keys: one entry of the log, which each core makes a file of, whenever it ends. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Beat } from '../../src/cluster/nodes/beat-message.ts';
import { ClusterKeys } from '../../src/cluster/nodes/cluster-keys.ts';
import { publishSecrets, writeSecrets } from '../../src/cluster/nodes/secrets.ts';
import {
  followSigningKeys,
  rotateSharedKeys,
  updateSigningKeys,
} from '../../src/node/signing-rotation.ts';
import { readKeyPrints } from '../../src/store/installation.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { accessVersion } from '../../src/workspaces/access.ts';
import {
  makeSigningKeys,
  readSigningKeys,
  signingKeysFile,
} from '../../src/workspaces/signing-keys.ts';
import { temporaryManagement } from '../store/temporary-management.ts';

const keys = new ClusterKeys('a secret of the cluster that is long enough');
const log = createLog('silent');
let filled = 0;
const randomBytes = (bytes: Uint8Array): Uint8Array => bytes.fill(++filled);
const beat = (name: string, role: Beat['role'] = 'all'): Beat => ({
  name,
  version: '1',
  role,
  instance: `n_${name}`,
  linkNumber: 1,
  url: '',
  redirects: true,
  isLast: false,
  journaled: { atMs: 0, tails: [] },
  mark: null,
});

/** One store stands for what every core has applied; each core has a folder. */
async function fixture() {
  const { store, folder } = temporaryManagement();
  const other = mkdtempSync(join(folder, 'other-'));
  makeSigningKeys(folder, randomBytes);
  writeFileSync(join(folder, 'visitor.key'), Buffer.alloc(16, 7));
  await publishSecrets({ store, folder, keys }, randomBytes);
  writeSecrets({ store, folder: other, keys });
  const connected: Beat[] = [];
  const names = ['a', 'b', 'c'];
  const cores = names.map((name) => ({ name }));
  const options = {
    store,
    folder,
    keys,
    randomBytes,
    nodes: { cores: () => cores as never },
    beats: { own: beat('a'), connected: () => connected },
  };
  const kids = (path: string): string[] => readSigningKeys(path).map(({ kid }) => kid);
  const write = (path: string): boolean => updateSigningKeys({ store, folder: path, keys });
  return { store, folder, other, connected, options, kids, write };
}

test('a rotation is one commit, of which each core makes its file; older keys stay', async () => {
  const { store, folder, other, connected, options, kids } = await fixture();
  connected.push(beat('b'), beat('e', 'edge'));
  const end = followSigningKeys({ store, folder: other, keys, log });
  const [first] = kids(folder);
  const version = accessVersion(store);
  let commits = 0;
  store.environment.committed.listen(() => (commits += 1));
  const { kid, away } = await rotateSharedKeys(options);
  expect([commits, away]).toEqual([1, ['c']]);
  expect(kids(folder)).toEqual([kid, first]);
  expect(readFileSync(join(other, signingKeysFile))).toEqual(
    readFileSync(join(folder, signingKeysFile)),
  );
  expect(accessVersion(store)).toBe(version + 1);
  const print = readKeyPrints(store.environment).get(`${signingKeysFile}/${kid}`);
  expect(print).toEqual(expect.any(String));
  const row = Buffer.from(store.cluster.secrets.get(signingKeysFile)!);
  expect(row.includes(readFileSync(join(folder, signingKeysFile)).subarray(20, 60))).toBe(false);
  end();
});

test('a core that ends before its file is written writes it at its next start', async () => {
  const { folder, other, options, kids, write } = await fixture();
  expect(write(other)).toBe(false);
  const { kid } = await rotateSharedKeys(options);
  await rotateSharedKeys(options);
  expect(kids(other)).toHaveLength(1);
  expect([write(other), write(other)]).toEqual([true, false]);
  expect(kids(other)).toEqual(kids(folder));
  expect(kids(other)[1]).toBe(kid);
});

test('a key that was taken out by hand stays out, and the next rotation takes it out elsewhere', async () => {
  const { folder, other, options, kids, write } = await fixture();
  const [first] = kids(folder);
  await rotateSharedKeys(options);
  write(other);
  const path = join(folder, signingKeysFile);
  const text: { keys: Array<{ kid: string }> } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ keys: text.keys.filter(({ kid }) => kid !== first) }));
  expect(write(folder)).toBe(false);
  expect(kids(folder)).not.toContain(first);
  await rotateSharedKeys(options);
  write(other);
  expect([kids(other).length, kids(other).includes(first!)]).toEqual([2, false]);
});

test('of two at once one is refused; so is one with 100 keys', async () => {
  const { options, kids, folder } = await fixture();
  const both = await Promise.allSettled([rotateSharedKeys(options), rotateSharedKeys(options)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(kids(folder)).toHaveLength(2);
  for (let count = 2; count < 100; count++) await rotateSharedKeys(options);
  await expect(rotateSharedKeys(options)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('has 100 keys'),
  });
});
