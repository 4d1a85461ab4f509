/** Key files that every core shares, keys and tokens that come of one secret, and a rotation of the signing keys. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Beat } from '../../../src/cluster/nodes/beat-message.ts';
import { ClusterKeys } from '../../../src/cluster/nodes/cluster-keys.ts';
import { checkSecret, publishSecrets, writeSecrets } from '../../../src/cluster/nodes/secrets.ts';
import {
  followSigningKeys,
  rotateSharedKeys,
  updateSigningKeys,
} from '../../../src/cluster/roles/signing-rotation.ts';
import { readKeyPrints } from '../../../src/store/installation.ts';
import { createLog } from '../../../src/platform/log.ts';
import { accessVersion } from '../../../src/product/workspaces/access.ts';
import {
  makeSigningKeys,
  readSigningKeys,
  signingKeysFile,
} from '../../../src/product/workspaces/signing-keys.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { beatOf } from './beats-network.ts';

const secret = 'a secret of the cluster that is long enough';
const keys = new ClusterKeys(secret);
let filled = 0;
const randomBytes = (bytes: Uint8Array): Uint8Array => bytes.fill(++filled);

function fixture() {
  const { store, folder } = temporaryManagement();
  const other = mkdtempSync(join(folder, 'other-'));
  makeSigningKeys(folder, randomBytes);
  writeFileSync(join(folder, 'visitor.key'), Buffer.alloc(16, 7));
  const read = (name: string) => readFileSync(join(other, name));
  const publish = () => publishSecrets({ store, folder, keys }, randomBytes);
  return { store, folder, other, read, publish };
}

const names = [signingKeysFile, 'visitor.key'];

test('what the first leader publishes, other cores write, for their owner alone', async () => {
  const { store, folder, other, read, publish } = fixture();
  expect(writeSecrets({ store, folder: other, keys })).toEqual(names);
  await publish();
  expect(writeSecrets({ store, folder: other, keys })).toEqual([]);
  for (const name of names) {
    expect(read(name)).toEqual(readFileSync(join(folder, name)));
    expect(statSync(join(other, name)).mode & 0o777).toBe(0o600);
    const row = Buffer.from(store.cluster.secrets.get(name)!);
    expect(row.includes(read(name))).toBe(false);
  }
});

test('another secret, a changed row, and one under another name are refused', async () => {
  const { store, other, publish } = fixture();
  await publish();
  const { secrets } = store.cluster;
  const write = () => writeSecrets({ store, folder: other, keys });
  const put = async (name: string, row: Uint8Array): Promise<void> =>
    await store.environment.transaction(() => secrets.put(name, row));
  const wrong = { store, folder: other, keys: new ClusterKeys(`${secret}!`) };
  expect(() => writeSecrets(wrong)).toThrow(
    'Cannot decrypt signing-keys.json of the cluster: cluster.secret is another one here than on the core that published it',
  );
  const row = secrets.get('visitor.key')!;
  await put('visitor.key', secrets.get(signingKeysFile)!);
  expect(write).toThrow('Cannot decrypt visitor.key');
  await put('visitor.key', row.with(40, row[40]! ^ 1));
  expect(write).toThrow('Cannot decrypt visitor.key');
  await put('visitor.key', row.with(0, 2));
  expect(write).toThrow('it has version 2, expected 1; start a newer Quietzone');
});

test('a key file that is missing or damaged is not published', async () => {
  const { store, folder, publish } = fixture();
  writeFileSync(join(folder, 'visitor.key'), Buffer.alloc(15));
  await expect(publish()).rejects.toThrow('with the cluster: it has 15 bytes, expected 16');
  rmSync(join(folder, 'visitor.key'));
  await expect(publish()).rejects.toThrow('visitor.key with the cluster: it is missing');
  expect([...store.cluster.secrets.keys({})]).toEqual([]);
});

test('a token is of one edge and one run; no other text is a token', () => {
  const token = keys.tokenOf('berlin-1', 3);
  expect(keys.readToken(token)).toEqual({ name: 'berlin-1', run: 3 });
  expect(new ClusterKeys(secret).tokenOf('berlin-1', 3)).toBe(token);
  const [, , digest] = token.split('.');
  const others = [
    '',
    token.slice(0, -1),
    `${token}A`,
    `berlin-2.3.${digest}`,
    `berlin-1.4.${digest}`,
    `berlin-1.03.${digest}`,
    `.3.${digest}`,
    new ClusterKeys(`${secret}!`).tokenOf('berlin-1', 3),
  ];
  expect(others.map((other) => keys.readToken(other))).toEqual(others.map(() => undefined));
  // Each use has a key of its own.
  expect(keys.secrets).not.toEqual(keys.requests);
});

test('a start with another secret is refused, where the cluster has published any', async () => {
  const { store, publish } = fixture();
  const other = new ClusterKeys('a secret of another cluster, long enough too');
  checkSecret({ store, keys: other });
  await publish();
  checkSecret({ store, keys });
  expect(() => checkSecret({ store, keys: other })).toThrow('cluster.secret is another one here');
});

/** One store stands for what every core has applied; each core has a folder. */
async function rotation() {
  const { store, folder, other, publish } = fixture();
  await publish();
  writeSecrets({ store, folder: other, keys });
  const connected: Beat[] = [];
  const cores = ['a', 'b', 'c'].map((name) => ({ name }));
  const options = {
    store,
    folder,
    keys,
    randomBytes,
    nodes: { cores: () => cores as never },
    beats: { own: beatOf('a'), connected: () => connected },
  };
  const kids = (path: string): string[] => readSigningKeys(path).map(({ kid }) => kid);
  const write = (path: string): boolean => updateSigningKeys({ store, folder: path, keys });
  return { store, folder, other, connected, options, kids, write };
}

test('a rotation is one commit, of which each core makes its file; older keys stay', async () => {
  const { store, folder, other, connected, options, kids } = await rotation();
  connected.push(beatOf('b'), beatOf('e', 'edge'));
  const end = followSigningKeys({ store, folder: other, keys, log: createLog('silent') });
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

test('a key that was taken out by hand stays out, and the next rotation takes it out elsewhere', async () => {
  const { folder, other, options, kids, write } = await rotation();
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
  const { options, kids, folder } = await rotation();
  const both = await Promise.allSettled([rotateSharedKeys(options), rotateSharedKeys(options)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(kids(folder)).toHaveLength(2);
  for (let count = 2; count < 100; count++) await rotateSharedKeys(options);
  await expect(rotateSharedKeys(options)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('has 100 keys'),
  });
});
