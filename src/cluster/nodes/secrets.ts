/**
 * The key files of a data folder, the same on every core: API keys and visitor hashes must mean the same on each.
 *
 *   first leader   makes them as a single machine does, and publishes them: rows of the replicated `cluster_secrets`
 *   other cores    write them from the rows before they open the data folder; edges have none
 *   a rotation     the leader replaces the row of the signing keys; each core writes the file (node/signing-rotation.ts)
 *
 * A row is encrypted (AES-256-GCM) with a key derived from `cluster.secret`: brokers, copies and backups carry it.
 *
 *   1 byte version, 12 nonce, 16 tag, then the file's bytes encrypted; authenticated with the file's name
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type KeyFileName,
  keyFileNames,
  readKeyFile,
} from '../../engine/installation/key-files.ts';
import { readIfThere, replaceFile } from '../../engine/small-files.ts';
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
 * Of the leader: publishes the key files that the cluster does not have yet. Those that it has stay.
 * @throws NodeError where a file is missing or damaged; Failure not_active
 */
export async function publishSecrets(
  { store, folder, keys }: SecretsOptions,
  randomBytes: RandomBytes,
): Promise<void> {
  const { secrets } = store.cluster;
  const missing = keyFileNames.filter((name) => !secrets.has(name));
  if (missing.length === 0) return;
  const rows = missing.map((name): readonly [KeyFileName, Uint8Array] => {
    checkKeyFile(folder, name);
    return [name, secretRow(name, readFileSync(join(folder, name)), { keys, randomBytes })];
  });
  await store.environment.transaction(() => {
    for (const [name, row] of rows) if (!secrets.has(name)) secrets.put(name, row);
  });
}

/**
 * Of another core: writes the key files as the cluster has them, where they are missing or differ.
 * @returns those that no leader has published yet
 * @throws NodeError where `cluster.secret` is another one than the publisher's
 */
export function writeSecrets({ store, folder, keys }: SecretsOptions): readonly KeyFileName[] {
  const { secrets } = store.cluster;
  return keyFileNames.filter((name) => {
    const row = secrets.get(name);
    if (row === undefined) return true;
    const path = join(folder, name);
    const bytes = decryptSecret(name, row, keys.secrets);
    if (readIfThere(path)?.equals(bytes) !== true) replaceFile(path, bytes);
    checkKeyFile(folder, name);
    return false;
  });
}

/** A file as its row in `cluster_secrets` has it. */
export function secretRow(
  name: KeyFileName,
  bytes: Uint8Array,
  { keys, randomBytes }: Pick<SecretsOptions, 'keys'> & { readonly randomBytes: RandomBytes },
): Uint8Array {
  const nonce = randomBytes(new Uint8Array(nonceBytes));
  return encryptSecret(name, bytes, { key: keys.secrets, nonce });
}

/** The file of a row. @throws NodeError where `cluster.secret` is another one than the publisher's */
export const readSecretRow = (
  name: KeyFileName,
  row: Uint8Array,
  { secrets }: Pick<ClusterKeys, 'secrets'>,
): Buffer => decryptSecret(name, row, secrets);

/** At each start. @throws NodeError where `cluster.secret` is another one than the publisher's */
export function checkSecret({ store, keys }: Pick<SecretsOptions, 'store' | 'keys'>): void {
  for (const name of keyFileNames) {
    const row = store.cluster.secrets.get(name);
    if (row !== undefined) decryptSecret(name, row, keys.secrets);
  }
}

function checkKeyFile(folder: string, name: KeyFileName): void {
  const found = readKeyFile(folder, name);
  if (found.kind === 'present') return;
  const why = found.kind === 'damaged' ? found.reason : `it is ${found.kind}`;
  throw new NodeError(`Cannot share ${join(folder, name)} with the cluster: ${why}`);
}

function encryptSecret(
  name: string,
  bytes: Uint8Array,
  { key, nonce }: { readonly key: Uint8Array; readonly nonce: Uint8Array },
): Uint8Array {
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(name));
  const body = [cipher.update(bytes), cipher.final()];
  return Buffer.concat([Uint8Array.of(version), nonce, cipher.getAuthTag(), ...body]);
}

function decryptSecret(name: string, row: Uint8Array, key: Uint8Array): Buffer {
  if (row[0] !== version || row.length < headBytes) {
    throw new NodeError(
      `Cannot read ${name} of the cluster: it has version ${row[0] ?? 'none'}, expected ${version}; start a newer Quietzone`,
    );
  }
  const nonce = row.subarray(1, 1 + nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
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
