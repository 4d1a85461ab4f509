/**
 * An endpoint's secrets: made, kept sealed, opened for signing, rotated.
 *
 *   whsec_ base64( 32 random bytes )
 *
 * The record holds them sealed, newest first. A rotation puts a new one in front and gives those behind it
 * an end; until then every delivery is signed with all of them, so a receiver may change over in its own
 * time. Opened secrets are cached by their sealed form: signing costs no decryption per delivery.
 */
import { Failure } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import type { EndpointSecret } from '../../model/webhook.ts';

const prefix = 'whsec_';
const secretBytes = 32;
/** Valid at the same time: each is a signature in two headers of every delivery. */
const validSecretsMax = 3;
/** Opened secrets in memory, about 200 bytes each: beyond it the oldest are opened again when needed. */
const openedMax = 10_000;

/** What seals them at rest: of the workspaces room, handed in. */
export interface Cipher {
  close(text: string): string;
  /** Undefined for what was sealed by somebody else. */
  open(sealed: string): string | undefined;
}

type StoredSecrets = readonly EndpointSecret[];

export class Secrets {
  readonly #seal: Cipher;
  readonly #randomBytes: RandomBytes;
  readonly #opened = new Map<string, string>();

  constructor(seal: Cipher, randomBytes: RandomBytes) {
    this.#seal = seal;
    this.#randomBytes = randomBytes;
  }

  /** A new secret: to be shown once, and as it is stored. */
  create(): { readonly secret: string; readonly sealed: string } {
    const bytes = Buffer.from(this.#randomBytes(new Uint8Array(secretBytes)));
    const secret = prefix + bytes.toString('base64');
    return { secret, sealed: this.#seal.close(secret) };
  }

  /** Those that sign now, newest first; without what was sealed under another key (a lost key file). */
  open(stored: StoredSecrets, nowMs: number): string[] {
    return validOf(stored, nowMs).flatMap(({ sealed }) => this.#openOne(sealed) ?? []);
  }

  #openOne(sealed: string): string | undefined {
    const known = this.#opened.get(sealed);
    if (known !== undefined) return known;
    const secret = this.#seal.open(sealed);
    if (secret === undefined) return undefined;
    if (this.#opened.size >= openedMax) {
      const [oldest] = this.#opened.keys();
      if (oldest !== undefined) this.#opened.delete(oldest);
    }
    this.#opened.set(sealed, secret);
    return secret;
  }
}

/** Those that still sign, newest first. */
export function validOf(stored: StoredSecrets, nowMs: number): StoredSecrets {
  return stored.filter(({ expiresAtMs = Infinity }) => nowMs < expiresAtMs);
}

/**
 * `sealed` in front; those behind it end after `overlapMs`, or at the end they have if that is sooner.
 * @throws Failure conflict when too many would be valid
 */
export function rotated(
  stored: StoredSecrets,
  sealed: string,
  overlapMs: number,
  nowMs: number,
): StoredSecrets {
  const endMs = nowMs + overlapMs;
  const older = stored.map((one) => ({
    sealed: one.sealed,
    expiresAtMs: Math.min(one.expiresAtMs ?? Infinity, endMs),
  }));
  const valid = validOf(older, nowMs);
  if (valid.length >= validSecretsMax) {
    throw new Failure(
      'conflict',
      `Cannot rotate: ${valid.length} secrets are valid, expected fewer; wait until one ends, or give overlapSeconds 0 to end them now`,
    );
  }
  return [{ sealed }, ...valid];
}
