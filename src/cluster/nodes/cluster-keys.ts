/**
 * Keys of a cluster, each derived from `cluster.secret` for one use (HKDF-SHA256, RFC 5869): one key does not
 * work in place of another. And the tokens of edges.
 *
 *   token   <name>.<run>.<base64url HMAC-SHA256 of "name\nrun">
 *
 * An edge gets its token when it joins, and shows it to cores; it never has the secret. A token is of one registration;
 * the registry knows whether that is still the newest of its name.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { isNodeName } from './node-name.ts';

const keyBytes = 32;
const tokenPattern = /^([^.]+)\.(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

export interface EdgeToken {
  readonly name: string;
  readonly run: number;
}

export class ClusterKeys {
  /** Encrypts the secrets that cores share. */
  readonly secrets: Uint8Array;
  /** Signs requests between machines (machine-proof.ts). */
  readonly requests: Uint8Array;
  readonly #tokens: Uint8Array;

  /** @param secret `cluster.secret` */
  constructor(secret: string) {
    const derive = (use: string): Uint8Array =>
      new Uint8Array(hkdfSync('sha256', secret, '', `quietzone cluster ${use}`, keyBytes));
    this.secrets = derive('secrets');
    this.requests = derive('requests');
    this.#tokens = derive('edge tokens');
  }

  tokenOf(name: string, run: number): string {
    return `${name}.${run}.${this.#digest(name, String(run)).toString('base64url')}`;
  }

  /** Whose token it is; undefined for any other text. In the same time for each wrong digest. */
  readToken(token: string): EdgeToken | undefined {
    const [, name, run, digest] = tokenPattern.exec(token) ?? [];
    if (!isNodeName(name) || run === undefined || digest === undefined) return undefined;
    const isRight = timingSafeEqual(Buffer.from(digest, 'base64url'), this.#digest(name, run));
    return isRight ? { name, run: Number(run) } : undefined;
  }

  #digest(name: string, run: string): Buffer {
    return createHmac('sha256', this.#tokens).update(`${name}\n${run}`).digest();
  }
}
