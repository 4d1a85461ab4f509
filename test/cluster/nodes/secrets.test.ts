/** Key files that every core shares, and the keys and tokens that come of one secret. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ClusterKeys } from '../../../src/cluster/nodes/cluster-keys.ts';
import { checkSecret, publishSecrets, writeSecrets } from '../../../src/cluster/nodes/secrets.ts';
import { makeSigningKeys, signingKeysFile } from '../../../src/workspaces/signing-keys.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';

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
  return { store, folder, other, read };
}

const names = [signingKeysFile, 'visitor.key'];

test('what the first leader publishes, other cores write, for their owner alone', async () => {
  const { store, folder, other, read } = fixture();
  expect(writeSecrets({ store, folder: other, keys })).toEqual(names);
  await publishSecrets({ store, folder, keys }, randomBytes);
  expect(writeSecrets({ store, folder: other, keys })).toEqual([]);
  for (const name of names) {
    expect(read(name)).toEqual(readFileSync(join(folder, name)));
    expect(statSync(join(other, name)).mode & 0o777).toBe(0o600);
    const row = Buffer.from(store.cluster.secrets.get(name)!);
    expect(row.includes(read(name))).toBe(false);
  }
});

test('another secret, a changed row, and one under another name are refused', async () => {
  const { store, folder, other } = fixture();
  await publishSecrets({ store, folder, keys }, randomBytes);
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
  const { store, folder } = fixture();
  const publish = async () => await publishSecrets({ store, folder, keys }, randomBytes);
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
});

test('each use has a key of its own', () => {
  const all = [keys.secrets, keys.requests, new ClusterKeys(`${secret}!`).secrets];
  expect(new Set(all.map((key) => Buffer.from(key).toString('hex'))).size).toBe(3);
  expect(all.map((key) => key.length)).toEqual([32, 32, 32]);
});

test('a start with another secret is refused, where the cluster has published any', async () => {
  const { store, folder } = fixture();
  const other = new ClusterKeys('a secret of another cluster, long enough too');
  checkSecret({ store, keys: other });
  await publishSecrets({ store, folder, keys }, randomBytes);
  checkSecret({ store, keys });
  expect(() => checkSecret({ store, keys: other })).toThrow('cluster.secret is another one here');
});
