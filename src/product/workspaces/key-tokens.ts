/**
 * The tokens of API keys: JWTs, HS256 and nothing else, signed with a secret of this installation.
 *
 *   header  { alg: "HS256", typ: "JWT", kid }
 *   claims  { iss: "quietzone", sub: "usr_…", ws: "ws_…", role, jti: "key_…", iat, exp? }
 *
 * Verifies what a token claims; whether the key still holds is in its record.
 * A token has one spelling: base64url decoders ignore the two last bits of a signature's 43 characters,
 * so three more texts would pass as the same token, one character away from it.
 */
import type { JWTPayload } from 'jose';
import { JOSEError } from 'jose/errors';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { ApiKeyRecord } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { accessVersion } from './access.ts';
import type { SigningKey } from './signing-keys.ts';

const issuer = 'quietzone';
const algorithm = 'HS256';
/** 32 bytes as 43 characters of base64url, the last of which ends in two zero bits. */
const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;
/** The file of signing keys is read again for an unknown `kid`, at most this often. */
const reloadIntervalMs = 1_000;

export interface KeyTokensOptions {
  readonly store: Management;
  readonly clock: Clock;
  /** Reads the signing keys, newest first. */
  readonly signingKeys: () => readonly SigningKey[];
}

export class KeyTokens {
  readonly #options: KeyTokensOptions;
  #signingKeys: readonly SigningKey[];
  #readAtMs: number;
  /** A rotation raises the access version: for an unknown `kid` the file is then read at once. */
  #readVersion = -1;

  constructor(options: KeyTokensOptions) {
    this.#options = options;
    this.#signingKeys = options.signingKeys();
    this.#readAtMs = options.clock.monotonicMs();
  }

  async sign(record: ApiKeyRecord, workspaceId: string): Promise<string> {
    // Read again: the command line may have rotated the secret.
    this.#reload();
    const signingKey = this.#signingKeys[0];
    if (signingKey === undefined) throw new Error('Cannot sign: no signing key, expected one');
    const jwt = new SignJWT({ ws: workspaceId, role: record.role })
      .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid: signingKey.kid })
      .setIssuer(issuer)
      .setSubject(record.userId)
      .setJti(record.id)
      .setIssuedAt(Math.floor(record.createdAtMs / 1_000));
    if (record.expiresAtMs !== undefined) {
      jwt.setExpirationTime(Math.ceil(record.expiresAtMs / 1_000));
    }
    return await jwt.sign(signingKey.secret);
  }

  /** What the token claims, its signature verified. @throws Failure unauthorized */
  async read(token: string): Promise<JWTPayload> {
    if (!tokenShape.test(token)) throw unauthorized();
    try {
      const { payload } = await jwtVerify(token, (header) => this.#secretOf(header.kid), {
        algorithms: [algorithm],
        issuer,
        requiredClaims: ['sub', 'ws', 'role', 'jti', 'iat'],
        currentDate: new Date(this.#options.clock.now()),
      });
      return payload;
    } catch (error) {
      if (error instanceof JOSEError || error instanceof Failure) throw unauthorized();
      // What the token makes the library throw otherwise (bad base64, bad UTF-8) is the token's fault.
      if (error instanceof TypeError || error instanceof SyntaxError) throw unauthorized();
      throw error;
    }
  }

  #secretOf(kid: string | undefined): SigningKey['secret'] {
    const find = (): SigningKey | undefined => this.#signingKeys.find((key) => key.kid === kid);
    const isOld =
      this.#options.clock.monotonicMs() - this.#readAtMs >= reloadIntervalMs ||
      accessVersion(this.#options.store) !== this.#readVersion;
    if (find() === undefined && isOld) this.#reload();
    const found = find();
    if (found === undefined) throw unauthorized();
    return found.secret;
  }

  #reload(): void {
    this.#readAtMs = this.#options.clock.monotonicMs();
    this.#readVersion = accessVersion(this.#options.store);
    try {
      this.#signingKeys = this.#options.signingKeys();
    } catch {
      // The folder is not in place, which health reports: the known keys stay valid.
    }
  }
}

export function unauthorized(): Failure {
  return new Failure('unauthorized', 'A valid API key is needed: Authorization: Bearer <API_KEY>');
}
