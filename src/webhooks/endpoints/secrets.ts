/**
 * An endpoint's secrets, `whsec_` and base64 of 32 random bytes: generated, stored encrypted, decrypted for signing,
 * rotated. The record has them newest first. A rotation adds a new one in front and an expiry to the others; until then
 * all sign, so a receiver can switch in its own time.
 */
import { Failure } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import type { EndpointSecret } from '../../model/webhook.ts';

const prefix = 'whsec_';
const secretBytes = 32;
/** Valid at the same time; each adds a signature to two headers of every delivery. */
const validSecretsMax = 3;

/** Encrypts secrets at rest: the workspaces' SecretCipher. */
export interface Cipher {
  encrypt(text: string): string;
  /** Undefined for text that another key encrypted. */
  decrypt(encrypted: string): string | undefined;
}

type StoredSecrets = readonly EndpointSecret[];

/** The text to show once, and its stored form. */
export function createSecret(
  cipher: Cipher,
  randomBytes: RandomBytes,
): { readonly secret: string; readonly encrypted: string } {
  const bytes = Buffer.from(randomBytes(new Uint8Array(secretBytes)));
  const secret = prefix + bytes.toString('base64');
  return { secret, encrypted: cipher.encrypt(secret) };
}

/** The secrets that sign now, newest first, without those that another (lost) key encrypted. */
export const decryptSecrets = (
  decrypt: Cipher['decrypt'],
  stored: StoredSecrets,
  nowMs: number,
): string[] => validOf(stored, nowMs).flatMap(({ encrypted }) => decrypt(encrypted) ?? []);

export function validOf(stored: StoredSecrets, nowMs: number): StoredSecrets {
  return stored.filter(({ expiresAtMs = Infinity }) => nowMs < expiresAtMs);
}

/**
 * The others expire after `overlapMs`, or at their own earlier expiry. @throws Failure conflict if too many are valid
 */
export function rotated(
  stored: StoredSecrets,
  encrypted: string,
  overlapMs: number,
  nowMs: number,
): StoredSecrets {
  const endMs = nowMs + overlapMs;
  const older = stored.map((one) => ({
    ...one,
    expiresAtMs: Math.min(one.expiresAtMs ?? Infinity, endMs),
  }));
  const valid = validOf(older, nowMs);
  if (valid.length >= validSecretsMax) {
    throw new Failure(
      'conflict',
      `Cannot rotate: ${valid.length} secrets are valid, expected fewer; wait until one ends, or give overlapSeconds 0 to end them now`,
    );
  }
  return [{ encrypted }, ...valid];
}
