/**
 * The key files of a data folder. management.mdb has their fingerprints, so a start detects a lost or swapped file: with
 * another key every API key would get a 401, or visitors would count twice.
 *
 *   visitor.key          16 random bytes: one key, under the name of the file
 *   signing-keys.json    several, by kid; the first one signs (product/workspaces/signing-keys.ts)
 *
 * A rotation renames the file before it commits the fingerprint: an unknown kid means a rotation that crashed in
 * between. A missing kid was removed by hand.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { messageOf } from '../../model/failure.ts';
import { readIfThere } from '../../platform/small-files.ts';
import {
  parseSigningKeys,
  signingKeyPrint,
  signingKeysFile,
} from '../../product/workspaces/signing-keys.ts';

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
