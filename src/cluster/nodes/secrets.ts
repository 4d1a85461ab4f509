/**
 * The key files of a data folder, the same on every core: API keys and visitor hashes must mean the same on each.
 *
 *   first core     makes them as a single machine does, and publishes them: rows of the replicated `cluster_secrets`
 *   other cores    write them from the rows of the copy; edges have none
 *   a rotation     the leader replaces the row of the signing keys; each core writes the file (cluster/roles/signing-rotation.ts)
 *
 * A row is encrypted (AES-256-GCM) with a key derived from `cluster.secret`: brokers, copies and backups carry it.
 *
 *   1 byte version, 12 nonce, 16 tag, then the file's bytes encrypted; authenticated with the file's name
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KeyFileName, keyFileNames, readKeyFile } from '../../app/folder/key-files.ts';
import { replaceFile } from '../../platform/small-files.ts';
import type { RandomBytes } from '../../model/ids.ts';
import type { Management } from '../../store/management/management.ts';
import type { ClusterKeys } from './cluster-keys.ts';
import { NodeError } from './node-error.ts';

const algorithm = 'aes-256-gcm';
const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;

export interface SecretsOptions {
  readonly store: Management;
  /** The data folder. */
  readonly folder: string;
  readonly keys: Pick<ClusterKeys, 'secrets'>;
}

/**
 * Of the core that begins the cluster: publishes its key files.
 * @throws NodeError where a file is missing or damaged; Failure not_active
 */
export async function publishSecrets(
  { store, folder, keys }: SecretsOptions,
  randomBytes: RandomBytes,
): Promise<void> {
  const { secrets } = store.cluster;
  const rows = keyFileNames.map((name): readonly [KeyFileName, Uint8Array] => {
    checkKeyFile(folder, name);
    return [name, secretRow(name, readFileSync(join(folder, name)), { keys, randomBytes })];
  });
  await store.environment.transaction(() => {
    for (const [name, row] of rows) secrets.put(name, row);
  });
}

/**
 * Of another core: writes the key files as the cluster has them.
 * @returns those that the cluster does not have
 * @throws NodeError where `cluster.secret` is another one than the publisher's
 */
export function writeSecrets({ store, folder, keys }: SecretsOptions): readonly KeyFileName[] {
  return keyFileNames.filter((name) => {
    const row = store.cluster.secrets.get(name);
    if (row === undefined) return true;
    replaceFile(join(folder, name), readSecretRow(name, row, keys));
    checkKeyFile(folder, name);
    return false;
  });
}

/** At each start. @throws NodeError where `cluster.secret` is another one than the publisher's */
export function checkSecret({ store, keys }: Pick<SecretsOptions, 'store' | 'keys'>): void {
  for (const name of keyFileNames) {
    const row = store.cluster.secrets.get(name);
    if (row !== undefined) readSecretRow(name, row, keys);
  }
}

function checkKeyFile(folder: string, name: KeyFileName): void {
  const found = readKeyFile(folder, name);
  if (found.kind === 'present') return;
  const why = found.kind === 'damaged' ? found.reason : `it is ${found.kind}`;
  throw new NodeError(`Cannot share ${join(folder, name)} with the cluster: ${why}`);
}

/** A file as its row in `cluster_secrets` has it. */
export function secretRow(
  name: KeyFileName,
  bytes: Uint8Array,
  { keys, randomBytes }: Pick<SecretsOptions, 'keys'> & { readonly randomBytes: RandomBytes },
): Uint8Array {
  const nonce = randomBytes(new Uint8Array(nonceBytes));
  const cipher = createCipheriv(algorithm, keys.secrets, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(name));
  const body = [cipher.update(bytes), cipher.final()];
  return Buffer.concat([Uint8Array.of(version), nonce, cipher.getAuthTag(), ...body]);
}

/** The file of a row. @throws NodeError where `cluster.secret` is another one than the publisher's */
export function readSecretRow(
  name: KeyFileName,
  row: Uint8Array,
  { secrets }: SecretsOptions['keys'],
): Buffer {
  if (row[0] !== version || row.length < headBytes) {
    throw new NodeError(
      `Cannot read ${name} of the cluster: it has version ${row[0] ?? 'none'}, expected ${version}; start a newer Quietzone`,
    );
  }
  const nonce = row.subarray(1, 1 + nonceBytes);
  const decipher = createDecipheriv(algorithm, secrets, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(name));
  decipher.setAuthTag(row.subarray(1 + nonceBytes, headBytes));
  try {
    return Buffer.concat([decipher.update(row.subarray(headBytes)), decipher.final()]);
  } catch (error) {
    throw new NodeError(
      `Cannot decrypt ${name} of the cluster: cluster.secret is another one here than on the core that published it`,
      { cause: error },
    );
  }
}
