/**
 * The secrets that API keys are signed with: `signing-keys.json` in the data folder, readable by its
 * owner only (0600), made on first start:
 *
 *   { "keys": [ { "kid": "…", "secret": "<32 bytes base64url>" }, … ] }
 *
 * The first one signs, all of them verify: a rotation puts a new one in front, and tokens of the
 * older ones stay good until their secret is taken out. The file is complete before it has its name,
 * so a start that dies leaves none or a whole one. It is made with its data folder and never again: management.mdb has a
 * fingerprint of each key (app/folder/key-files.ts).
 */
import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import { randomText } from './secret-text.ts';

export const signingKeysFile = 'signing-keys.json';
const ownerOnly = 0o600;
const secretBytes = 32;
const keysMax = 100;

export interface SigningKey {
  readonly kid: string;
  readonly secret: KeyObject;
}

/** @throws Error with a text for the operator when the file is missing, or not what it should be */
export function readSigningKeys(dataDir: string): SigningKey[] {
  const path = join(dataDir, signingKeysFile);
  try {
    return parseSigningKeys(readFileSync(path, 'utf8'));
  } catch (error) {
    const code = systemErrorCode(error);
    const found = code === 'ENOENT' ? 'it is missing' : code;
    throw new Error(
      `Cannot read ${path}: ${found}, expected {"keys": [{"kid", "secret"}]}; restore it from a backup`,
      { cause: error },
    );
  }
}

/** Makes the file with one key, where it is missing. The caller holds the lock of the folder. */
export function makeSigningKeys(dataDir: string, randomBytes: RandomBytes): void {
  const path = join(dataDir, signingKeysFile);
  if (existsSync(path)) return;
  renameSync(writeDraft(path, textOf([newKey(randomBytes)]), randomBytes), path);
}

/** Name of a key and its fingerprint, in management.mdb. */
export function signingKeyPrint({ kid, secret }: SigningKey): [name: string, print: string] {
  const print = createHash('sha256').update(secret.export()).digest('base64url');
  return [`${signingKeysFile}/${kid}`, print];
}

/**
 * Puts a new key in front: it signs from now on, the others still verify. One process at a time:
 * the caller holds the management environment's writer lock.
 * @returns the new key @throws Error with a text for the operator when there are too many
 */
export function rotateSigningKeys(dataDir: string, randomBytes: RandomBytes): SigningKey {
  const path = join(dataDir, signingKeysFile);
  const { key, text } = withNewKey(readSigningKeys(dataDir), randomBytes);
  renameSync(writeDraft(path, text, randomBytes), path);
  return key;
}

/**
 * The text of the file with a new key in front. Writes nothing.
 * @throws Error with a text for the operator when there are too many
 */
export function withNewKey(
  known: readonly SigningKey[],
  randomBytes: RandomBytes,
): { readonly key: SigningKey; readonly text: string } {
  if (known.length >= keysMax) {
    throw new Error(
      `Cannot rotate: ${signingKeysFile} has ${keysMax} keys; take out those that no API key needs`,
    );
  }
  const keys = known.map(({ kid, secret }) => ({
    kid,
    secret: secret.export().toString('base64url'),
  }));
  const { kid, secret } = newKey(randomBytes);
  const key = { kid, secret: createSecretKey(Buffer.from(secret, 'base64url')) };
  return { key, text: textOf([{ kid, secret }, ...keys]) };
}

interface WrittenKey {
  readonly kid: string;
  readonly secret: string;
}

function newKey(randomBytes: RandomBytes): WrittenKey {
  return { kid: randomText(6, randomBytes), secret: randomText(secretBytes, randomBytes) };
}

const textOf = (keys: readonly WrittenKey[]): string => `${JSON.stringify({ keys })}\n`;

/** @returns the path of the whole file under another name */
function writeDraft(path: string, text: string, randomBytes: RandomBytes): string {
  const draft = `${path}.${randomText(6, randomBytes)}`;
  const file = openSync(draft, 'wx', ownerOnly);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return draft;
}

/** @throws Error saying what is wrong with the text of the file */
export function parseSigningKeys(text: string): SigningKey[] {
  const keys = field(parseJson(text), 'keys');
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > keysMax) {
    throw new Error('it has no list of keys');
  }
  return keys.map((key: unknown) => {
    const [kid, secret] = [field(key, 'kid'), field(key, 'secret')];
    if (typeof kid !== 'string' || kid === '' || typeof secret !== 'string') {
      throw new Error('a key has no kid or no secret');
    }
    const bytes = Buffer.from(secret, 'base64url');
    if (bytes.length < secretBytes) {
      throw new Error(`the secret of ${kid} is shorter than 32 bytes`);
    }
    return { kid, secret: createSecretKey(bytes) };
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
