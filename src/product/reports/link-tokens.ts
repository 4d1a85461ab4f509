/**
 * The secrets in links: 256 bits, derived from an id under a key that is not in the store
 * (product/workspaces/secret-cipher.ts). The store has the SHA-256 alone, by which a token is looked up. A link can be shown
 * again because it is derived again. The data file, or a backup without `signing-keys.json`, opens no link.
 *
 * After a change of the signing keys an existing link still opens, by its hash, but cannot be shown again.
 */
import { hashOf, isSameText } from '../workspaces/secret-text.ts';
import type { SecretCipher } from '../workspaces/secret-cipher.ts';

const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

export interface LinkToken {
  readonly token: string;
  readonly hash: string;
}

export class LinkTokens {
  readonly #cipher: Pick<SecretCipher, 'digest'>;

  constructor(cipher: Pick<SecretCipher, 'digest'>) {
    this.#cipher = cipher;
  }

  /** @param name of what the link opens; no two have the same */
  make(name: string): LinkToken {
    const token = this.#cipher.digest(name);
    return { token, hash: hashOf(token) };
  }

  /** The token of a hash that `make` gave for the name; undefined when it was made under another key. */
  again(name: string, hash: string): string | undefined {
    const made = this.make(name);
    return isSameText(made.hash, hash) ? made.token : undefined;
  }
}

/** What a token of a link is looked up by; undefined for what cannot be one. */
export function tokenHash(token: string): string | undefined {
  return tokenPattern.test(token) ? hashOf(token) : undefined;
}
