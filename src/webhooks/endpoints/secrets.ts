/**
 * An endpoint's secrets: generated, stored encrypted, decrypted for signing, rotated.
 *
 *   whsec_ base64( 32 random bytes )
 *
 * The record holds them encrypted, newest first. A rotation puts a new one in front and sets an expiry for those
 * behind it; until then every delivery is signed with all of them, so a receiver can switch in its own time.
 * Decrypted secrets are cached, so signing costs no decryption per delivery.
 */
import { LRUCache } from 'lru-cache';
import { Failure } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import type { EndpointSecret } from '../../model/webhook.ts';

const prefix = 'whsec_';
const secretBytes = 32;
/** Valid at the same time: each adds a signature to two headers of every delivery. */
const validSecretsMax = 3;
/** Decrypted secrets in memory, about 200 bytes each. */
const decryptedMax = 10_000;

/** Encrypts them at rest: the workspaces' SecretCipher, handed in. */
export interface Cipher {
  encrypt(text: string): string;
  /** Undefined for what was encrypted with another key. */
  decrypt(encrypted: string): string | undefined;
}

type StoredSecrets = readonly EndpointSecret[];

export class Secrets {
  readonly #cipher: Cipher;
  readonly #randomBytes: RandomBytes;
  readonly #decrypted = new LRUCache<string, string>({ max: decryptedMax });

  constructor(cipher: Cipher, randomBytes: RandomBytes) {
    this.#cipher = cipher;
    this.#randomBytes = randomBytes;
  }

  /** Generates a secret: as it is shown once, and as it is stored. */
  create(): { readonly secret: string; readonly encrypted: string } {
    const bytes = Buffer.from(this.#randomBytes(new Uint8Array(secretBytes)));
    const secret = prefix + bytes.toString('base64');
    return { secret, encrypted: this.#cipher.encrypt(secret) };
  }

  /** Those that sign now, newest first; without those encrypted with another key (a lost key file). */
  decrypt(stored: StoredSecrets, nowMs: number): string[] {
    return validOf(stored, nowMs).flatMap((one) => this.#decrypt(one.sealed) ?? []);
  }

  #decrypt(encrypted: string): string | undefined {
    const known = this.#decrypted.get(encrypted);
    if (known !== undefined) return known;
    const secret = this.#cipher.decrypt(encrypted);
    if (secret !== undefined) this.#decrypted.set(encrypted, secret);
    return secret;
  }
}

/** Those that still sign, newest first. */
export function validOf(stored: StoredSecrets, nowMs: number): StoredSecrets {
  return stored.filter(({ expiresAtMs = Infinity }) => nowMs < expiresAtMs);
}

/**
 * Puts `encrypted` in front; those behind it expire after `overlapMs`, or at their own expiry if that is sooner.
 * @throws Failure conflict when too many would be valid
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
  return [{ sealed: encrypted }, ...valid];
}
