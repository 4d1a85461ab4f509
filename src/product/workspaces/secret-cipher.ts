/**
 * Encrypts secrets that are stored: answers that hold an API key or an invite's link, and the secrets of
 * webhook endpoints. AES-256-GCM under a key derived from the oldest signing secret, which rotation keeps:
 * the store alone, or a backup of it without `signing-keys.json`, gives none of them away. Each purpose
 * has its own key.
 *
 *   "sealed." base64url( iv, 12 bytes | tag, 16 bytes | ciphertext )
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import type { RandomBytes } from '../../model/ids.ts';

const prefix = 'sealed.';
const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;

/** What a key is for: part of its derivation, and so of what is stored. */
export type CipherPurpose =
  | 'quietzone kept answers'
  | 'quietzone positions'
  | 'quietzone report links';

export class SecretCipher {
  readonly #secret: () => KeyObject;
  readonly #randomBytes: RandomBytes;
  readonly #purpose: CipherPurpose;
  #key: Uint8Array | undefined;

  constructor(
    secret: () => KeyObject,
    randomBytes: RandomBytes,
    purpose: CipherPurpose = 'quietzone kept answers',
  ) {
    this.#secret = secret;
    this.#randomBytes = randomBytes;
    this.#purpose = purpose;
  }

  encrypt(text: string): string {
    return prefix + this.encryptBytes(text, noContext).toString('base64url');
  }

  /** Undefined for what was encrypted with another secret, or not at all. */
  decrypt(encrypted: string): string | undefined {
    if (!encrypted.startsWith(prefix)) return undefined;
    return this.decryptBytes(Buffer.from(encrypted.slice(prefix.length), 'base64url'), noContext);
  }

  /** @param context must be the same to decrypt it; it is not part of the bytes */
  encryptBytes(text: string, context: Uint8Array): Buffer {
    const iv = this.#randomBytes(new Uint8Array(ivBytes));
    const cipher = createCipheriv(algorithm, this.#derived(), iv).setAAD(context);
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), encrypted]);
  }

  decryptBytes(bytes: Uint8Array, context: Uint8Array): string | undefined {
    const head = ivBytes + tagBytes;
    if (bytes.length < head) return undefined;
    const options = { authTagLength: tagBytes };
    const iv = bytes.subarray(0, ivBytes);
    const decipher = createDecipheriv(algorithm, this.#derived(), iv, options);
    decipher.setAAD(context).setAuthTag(bytes.subarray(ivBytes, head));
    try {
      return decipher.update(bytes.subarray(head), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return undefined;
    }
  }

  /** A digest under the secret: without the secret, nobody can check a guess of the text. */
  digest(text: string): string {
    return createHmac('sha256', this.#derived()).update(text).digest('base64url');
  }

  #derived(): Uint8Array {
    this.#key ??= new Uint8Array(hkdfSync('sha256', this.#secret(), '', this.#purpose, keyBytes));
    return this.#key;
  }
}

const noContext = new Uint8Array();
