/**
 * The secrets that API keys are signed with: `signing-keys.json` in the data folder, readable by its
 * owner only (0600), made on first start:
 *
 *   { "keys": [ { "kid": "…", "secret": "<32 bytes base64url>" }, … ] }
 *
 * The first one signs, all of them verify: a rotation puts a new one in front, and tokens of the
 * older ones stay good until their secret is taken out. The file is complete before it has its name,
 * so a start that dies, or two that race, leave one whole file.
 */
import { createSecretKey, type KeyObject } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemErrorCode } from '../model/failure.ts';
import type { RandomBytes } from '../model/ids.ts';
import { randomText } from './secret-text.ts';

const fileName = 'signing-keys.json';
const ownerOnly = 0o600;
const secretBytes = 32;
const keysMax = 100;

export interface SigningKey {
  readonly kid: string;
  readonly secret: KeyObject;
}

/**
 * Reads the keys; makes the file when it is missing.
 * @throws Error with a text for the operator when the file is not what it should be
 */
export function openSigningKeys(dataDir: string, randomBytes: RandomBytes): SigningKey[] {
  const path = join(dataDir, fileName);
  const text = readIfThere(path) ?? makeFile(path, randomBytes);
  return parseSigningKeys(path, text);
}

/**
 * Puts a new key in front: it signs from now on, the others go on verifying. One process at a time:
 * the caller holds the management environment's writer lock.
 * @returns its kid @throws Error with a text for the operator when there are too many
 */
export function rotateSigningKeys(dataDir: string, randomBytes: RandomBytes): string {
  const keys = openSigningKeys(dataDir, randomBytes).map(({ kid, secret }) => ({
    kid,
    secret: secret.export().toString('base64url'),
  }));
  if (keys.length >= keysMax) {
    throw new Error(
      `Cannot rotate: ${fileName} has ${keysMax} keys; take out those that no API key needs`,
    );
  }
  const path = join(dataDir, fileName);
  const key = newKey(randomBytes);
  renameSync(writeDraft(path, [key, ...keys], randomBytes), path);
  return key.kid;
}

interface WrittenKey {
  readonly kid: string;
  readonly secret: string;
}

function newKey(randomBytes: RandomBytes): WrittenKey {
  return { kid: randomText(6, randomBytes), secret: randomText(secretBytes, randomBytes) };
}

/** @returns the path of the whole file under another name */
function writeDraft(path: string, keys: readonly WrittenKey[], randomBytes: RandomBytes): string {
  const draft = `${path}.${randomText(6, randomBytes)}`;
  const file = openSync(draft, 'wx', ownerOnly);
  try {
    writeSync(file, `${JSON.stringify({ keys })}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return draft;
}

function makeFile(path: string, randomBytes: RandomBytes): string {
  const draft = writeDraft(path, [newKey(randomBytes)], randomBytes);
  try {
    linkSync(draft, path);
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, 'utf8');
}

function parseSigningKeys(path: string, text: string): SigningKey[] {
  const refuse = (found: string): Error =>
    new Error(
      `Cannot read ${path}: ${found}, expected {"keys": [{"kid", "secret"}]}; restore it from a backup`,
    );
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw refuse('it is not JSON');
  }
  const keys = field(content, 'keys');
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > keysMax) {
    throw refuse('it has no list of keys');
  }
  return keys.map((key: unknown) => {
    const [kid, secret] = [field(key, 'kid'), field(key, 'secret')];
    if (typeof kid !== 'string' || kid === '' || typeof secret !== 'string') {
      throw refuse('a key has no kid or no secret');
    }
    const bytes = Buffer.from(secret, 'base64url');
    if (bytes.length < secretBytes) throw refuse(`the secret of ${kid} is shorter than 32 bytes`);
    return { kid, secret: createSecretKey(bytes) };
  });
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
