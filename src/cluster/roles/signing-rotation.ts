/**
 * The signing keys of API keys in a cluster: a rotation is one entry of the log.
 *
 *   leader      a new key in front of those of its file -> ONE transaction: row of `cluster_secrets`, fingerprint, access version
 *   each core   has applied that -> writes its key file -> its next requests are signed and verified with it
 *
 * No core restarts. A core that was away applies the entry before it can lead. A core that ended between the entry and its file
 * writes the file at its next start, before the start marks the folder. A file that has the signing key is left alone: an
 * operator may have removed other keys, and the next rotation on that core removes them from the cluster.
 */
import { join } from 'node:path';
import type { Beats } from '../nodes/beats.ts';
import type { ClusterKeys } from '../nodes/cluster-keys.ts';
import type { Registry } from '../nodes/registry.ts';
import { readSecretRow, secretRow } from '../nodes/secrets.ts';
import { replaceFile } from '../../platform/small-files.ts';
import { Failure, messageOf } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import { putKeyPrint } from '../../store/installation.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../platform/log.ts';
import { raiseAccessVersion } from '../../product/workspaces/access.ts';
import {
  parseSigningKeys,
  readSigningKeys,
  signingKeyPrint,
  signingKeysFile,
  withNewKey,
} from '../../product/workspaces/signing-keys.ts';

export interface SharedKeysOptions {
  readonly store: Management;
  /** The data folder. */
  readonly folder: string;
  readonly keys: Pick<ClusterKeys, 'secrets'>;
}

/**
 * Writes the file if it lacks the key that the cluster signs with. @returns whether it wrote
 * @throws NodeError if `cluster.secret` is another one; Error of the disk
 */
export function updateSigningKeys({ store, folder, keys }: SharedKeysOptions): boolean {
  const row = store.cluster.secrets.get(signingKeysFile);
  if (row === undefined) return false;
  const bytes = readSecretRow(signingKeysFile, row, keys);
  const signing = parseSigningKeys(bytes.toString('utf8'))[0]?.kid;
  if (readSigningKeys(folder).some(({ kid }) => kid === signing)) return false;
  replaceFile(join(folder, signingKeysFile), bytes);
  return true;
}

/** Updates the file with each commit that changes the row; the next commit retries a failure. @returns ends it */
export function followSigningKeys(
  options: SharedKeysOptions & { readonly log: Logger },
): () => void {
  const { store, log } = options;
  const rowNow = (): Buffer => Buffer.from(store.cluster.secrets.get(signingKeysFile) ?? []);
  let seen: Uint8Array = Buffer.alloc(0);
  let failed = '';
  const update = (): void => {
    const row = rowNow();
    if (row.equals(seen)) return;
    try {
      if (updateSigningKeys(options)) log.info('the cluster signs API keys with a new secret');
      seen = row;
      failed = '';
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== failed) {
        log.error({ reason }, 'writing the signing keys of the cluster failed, retrying');
      }
      failed = reason;
    }
  };
  return store.environment.committed.listen(update);
}

export interface RotationResult {
  /** Of the key that signs from now on. */
  readonly kid: string;
  /** Cores that are not connected. */
  readonly away: readonly string[];
}

export interface RotationOptions extends SharedKeysOptions {
  readonly randomBytes: RandomBytes;
  readonly nodes: Pick<Registry, 'cores'>;
  readonly beats: Pick<Beats, 'connected' | 'own'>;
}

/** Of the leader. @throws Failure conflict, not_active */
export async function rotateSharedKeys(options: RotationOptions): Promise<RotationResult> {
  const { store, folder, keys, randomBytes } = options;
  const { secrets } = store.cluster;
  const before = secrets.get(signingKeysFile);
  if (before === undefined) throw refused('the cluster has no keys yet');
  updateSigningKeys(options);
  const { key, text } = newKeyOf(folder, randomBytes);
  const row = secretRow(signingKeysFile, Buffer.from(text), { keys, randomBytes });
  const seen = Buffer.from(before);
  const [name, print] = signingKeyPrint(key);
  await store.environment.transaction(() => {
    if (!seen.equals(secrets.get(signingKeysFile) ?? Buffer.alloc(0))) {
      throw refused('another rotation came first; rotate again if you still want to');
    }
    secrets.put(signingKeysFile, row);
    putKeyPrint(store.installation, name, print);
    raiseAccessVersion(store);
  });
  // The commit has written it. If the disk refused, this throws the reason.
  updateSigningKeys(options);
  return { kid: key.kid, away: awayOf(options) };
}

function newKeyOf(folder: string, randomBytes: RandomBytes): ReturnType<typeof withNewKey> {
  try {
    return withNewKey(readSigningKeys(folder), randomBytes);
  } catch (error) {
    throw new Failure('conflict', messageOf(error));
  }
}

function awayOf({ nodes, beats }: RotationOptions): string[] {
  const connected = new Set([beats.own, ...beats.connected()].map(({ name }) => name));
  const away = nodes.cores().filter(({ name }) => !connected.has(name));
  return away.map(({ name }) => name).toSorted();
}

const refused = (why: string): Failure =>
  new Failure('conflict', `Cannot rotate the signing keys: ${why}`);
