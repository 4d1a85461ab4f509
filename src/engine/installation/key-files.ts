/**
 * The key files of a data folder, and their fingerprints in management.mdb: a file that is lost or swapped is told
 * at the start, instead of a 401 for every API key or of visitors that are counted twice.
 *
 *   visitor.key          16 random bytes: one key, under the name of the file
 *   signing-keys.json    several, by kid; the first one signs (workspaces/signing-keys.ts)
 *
 * A rotation commits the fingerprint of its key after the file has its name: a kid that is not known yet is that of
 * a rotation which a crash has cut short. A kid that is missing was taken out by hand.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { messageOf } from '../../model/failure.ts';
import type { KeyPrint } from '../../store/installation.ts';
import { readIfThere } from '../small-files.ts';
import {
  parseSigningKeys,
  signingKeyPrint,
  signingKeysFile,
} from '../../workspaces/signing-keys.ts';

export const visitorKeyFile = 'visitor.key';
export const visitorKeyBytes = 16;

export type KeyFileName = typeof visitorKeyFile | typeof signingKeysFile;
export const keyFileNames: readonly KeyFileName[] = [signingKeysFile, visitorKeyFile];

export type KeyFile =
  | { readonly kind: 'missing' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'damaged'; readonly reason: string }
  /** Name -> fingerprint. */
  | { readonly kind: 'present'; readonly prints: ReadonlyMap<string, string> };

export function readKeyFile(folder: string, name: KeyFileName): KeyFile {
  const bytes = readIfThere(join(folder, name));
  if (bytes === undefined) return { kind: 'missing' };
  if (bytes.length === 0) return { kind: 'empty' };
  try {
    const prints = name === visitorKeyFile ? visitorPrint(bytes) : signingPrints(bytes);
    return { kind: 'present', prints };
  } catch (error) {
    return { kind: 'damaged', reason: messageOf(error) };
  }
}

/** How the keys of a file differ from those that are known. */
export interface KeyChanges {
  /** Known and in the file, with another secret. */
  readonly changed: readonly string[];
  /** In the file, not known. */
  readonly added: readonly string[];
  /** Known, not in the file, and not told of before. */
  readonly removed: readonly string[];
  /** Known and in the file as they were. */
  readonly same: readonly string[];
}

export function compareKeys(
  name: KeyFileName,
  found: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, KeyPrint>,
): KeyChanges {
  const names = [...found.keys()];
  const ofFile = [...known].filter(([key]) => key === name || key.startsWith(`${name}/`));
  return {
    changed: names.filter((key) => known.has(key) && known.get(key)?.print !== found.get(key)),
    added: names.filter((key) => !known.has(key)),
    removed: ofFile.flatMap(([key, { isRemoved }]) => (isRemoved || found.has(key) ? [] : [key])),
    same: names.filter((key) => known.get(key)?.print === found.get(key)),
  };
}

function visitorPrint(bytes: Uint8Array): Map<string, string> {
  if (bytes.length !== visitorKeyBytes) {
    throw new Error(`it has ${bytes.length} bytes, expected ${visitorKeyBytes}`);
  }
  return new Map([[visitorKeyFile, createHash('sha256').update(bytes).digest('base64url')]]);
}

function signingPrints(bytes: Uint8Array): Map<string, string> {
  const keys = parseSigningKeys(Buffer.from(bytes).toString('utf8'));
  return new Map(keys.map((key) => signingKeyPrint(key)));
}
