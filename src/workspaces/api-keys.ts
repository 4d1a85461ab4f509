/**
 * API keys: JWTs, HS256 and nothing else, signed with a secret of this installation.
 *
 *   header  { alg: "HS256", typ: "JWT", kid }
 *   claims  { iss: "quietzone", sub: "usr_…", ws: "ws_…", role, jti: "key_…", iat, exp? }
 *
 * The first request with a token verifies its signature (about 50 µs); later ones find it by the
 * SHA-256 of the token: what an attacker can time is the comparison of hashes that he cannot choose.
 * The key's record is looked at again whenever anything about access has changed, in this process or
 * another, so a revocation holds on the next request. Tokens are never stored or logged.
 */
import { hash } from 'node:crypto';
import { errors, jwtVerify, SignJWT, type JWTPayload } from 'jose';
import type { Clock } from '../model/clock.ts';
import { Failure } from '../model/failure.ts';
import { parseId, type IdSource } from '../model/ids.ts';
import {
  lesserRole,
  limitsOf,
  roleAtLeast,
  type Actor,
  type ApiKeyRecord,
  type PlanLimits,
  type Role,
} from '../model/workspace.ts';
import type { Management } from '../store/management.ts';
import { accessVersion, raiseAccessVersion } from './access.ts';
import { DelayedWrite } from './delayed-write.ts';
import type { SigningKey } from './signing-keys.ts';

const issuer = 'quietzone';
const algorithm = 'HS256';
/** Ours have about 330 characters; more is not worth a hash. */
const tokenLengthMax = 2_048;
/** Verified tokens kept in memory, about 600 bytes each. */
const verifiedMax = 10_000;
/** `lastUsedAt` is written this often at most. */
const usesDelayMs = 5_000;
/** The file of signing keys is read again for an unknown `kid`, at most this often. */
const reloadIntervalMs = 1_000;
const keyNameLengthMax = 120;

export interface NewApiKey {
  readonly workspaceNo: number;
  readonly userId: string;
  readonly name: string;
  readonly role: Role;
  readonly expiresAtMs?: number | undefined;
}

export interface Verified {
  readonly actor: Actor;
  /** For `Quota.take`. */
  readonly limits: PlanLimits;
}

export interface ApiKeysParts {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  /** Reads the signing keys, newest first. */
  readonly signingKeys: () => readonly SigningKey[];
}

interface Known {
  readonly keyId: string;
  version: number;
  /** Undefined: the key is revoked, or its user is no member any more. */
  verified: Verified | undefined;
  expiresAtMs: number;
}

export class ApiKeys {
  readonly #parts: ApiKeysParts;
  readonly #known = new Map<string, Known>();
  readonly #uses = new Map<string, number>();
  readonly #usesWrite: DelayedWrite;
  #signingKeys: readonly SigningKey[];
  #signingKeysReadAtMs: number;

  constructor(parts: ApiKeysParts) {
    this.#parts = parts;
    this.#signingKeys = parts.signingKeys();
    this.#signingKeysReadAtMs = parts.clock.monotonicMs();
    this.#usesWrite = new DelayedWrite(usesDelayMs, async () => await this.#writeUses());
  }

  /**
   * Makes a key; the token is in the answer and nowhere else.
   * @throws Failure validation_failed, not_found (workspace, or no member), forbidden (a role above the user's)
   */
  async create(key: NewApiKey): Promise<{ record: ApiKeyRecord; token: string }> {
    const { store, ids, clock } = this.#parts;
    const { workspaceNo, userId, name, role, expiresAtMs } = key;
    if (name === '' || name.length > keyNameLengthMax) {
      const message = `A name of 1 to ${keyNameLengthMax} characters`;
      const faults = [{ path: 'name', code: 'invalid_name', message }];
      throw new Failure('validation_failed', message, { faults });
    }
    const { record, workspaceId } = await store.environment.transaction(() => {
      const workspace = store.workspaces.get(workspaceNo);
      const membership = store.memberships.get([workspaceNo, userId]);
      if (workspace === undefined || membership === undefined) {
        throw new Failure('not_found', 'There is no such member of the workspace');
      }
      if (!roleAtLeast(membership.role, role)) {
        throw new Failure('forbidden', `A key for ${role} needs a member with that role or above`);
      }
      const made: ApiKeyRecord = {
        id: ids.newId('key'),
        workspaceNo,
        userId,
        name,
        role,
        createdAtMs: clock.now(),
        ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
      };
      store.apiKeys.put(made.id, made);
      store.workspaceKeys.put([workspaceNo, made.id], 1);
      raiseAccessVersion(store);
      return { record: made, workspaceId: workspace.id };
    });
    return { record, token: await this.#sign(record, workspaceId) };
  }

  /** Who the token speaks for. @throws Failure unauthorized */
  async verify(token: string): Promise<Verified> {
    const { store, clock } = this.#parts;
    if (token === '' || token.length > tokenLengthMax) throw unauthorized();
    const digest = hash('sha256', token, 'base64');
    const known = this.#known.get(digest) ?? (await this.#learn(digest, token));
    store.environment.refresh();
    const version = accessVersion(store);
    if (known.version !== version) {
      known.verified = this.#look(known);
      known.version = version;
    }
    const nowMs = clock.now();
    if (known.verified === undefined || nowMs >= known.expiresAtMs) throw unauthorized();
    this.#uses.set(known.keyId, nowMs);
    this.#usesWrite.mark();
    return known.verified;
  }

  /** From the next request on the key is refused. @throws Failure not_found, also the second time */
  async revoke(workspaceNo: number, keyId: string): Promise<void> {
    const { store, clock } = this.#parts;
    await store.environment.transaction(() => {
      const record = store.apiKeys.get(keyId);
      if (record?.workspaceNo !== workspaceNo || record.revokedAtMs !== undefined) {
        throw new Failure('not_found', 'There is no API key with this id');
      }
      store.apiKeys.put(keyId, { ...record, revokedAtMs: clock.now() });
      raiseAccessVersion(store);
    });
  }

  /** A workspace's keys, oldest first, revoked ones too. */
  list(workspaceNo: number): ApiKeyRecord[] {
    const { store } = this.#parts;
    const keys: ApiKeyRecord[] = [];
    for (const [, id] of store.workspaceKeys.keys({
      start: [workspaceNo, ''],
      end: [workspaceNo + 1, ''],
    })) {
      const record = store.apiKeys.get(id);
      if (record !== undefined) keys.push(record);
    }
    return keys;
  }

  lastUsedAtMs(keyId: string): number | undefined {
    return this.#uses.get(keyId) ?? this.#parts.store.keyUses.get(keyId);
  }

  async close(): Promise<void> {
    await this.#usesWrite.close();
  }

  async #sign(record: ApiKeyRecord, workspaceId: string): Promise<string> {
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

  async #learn(digest: string, token: string): Promise<Known> {
    const claims = await this.#claims(token);
    const keyId = parseId('key', claims.jti ?? '');
    const record = keyId === undefined ? undefined : this.#parts.store.apiKeys.get(keyId);
    if (record === undefined || record.userId !== claims.sub) throw unauthorized();
    const workspace = this.#parts.store.workspaces.get(record.workspaceNo);
    if (workspace?.id !== claims.ws || record.role !== claims.role) throw unauthorized();
    const claimed = claims.exp === undefined ? Infinity : claims.exp * 1_000;
    const known: Known = {
      keyId: record.id,
      // No version is negative: the record is looked at before the first use too.
      version: -1,
      verified: undefined,
      expiresAtMs: Math.min(claimed, record.expiresAtMs ?? Infinity),
    };
    if (this.#known.size >= verifiedMax) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(digest, known);
    return known;
  }

  async #claims(token: string): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, (header) => this.#secretOf(header.kid), {
        algorithms: [algorithm],
        issuer,
        requiredClaims: ['sub', 'ws', 'role', 'jti', 'iat'],
        currentDate: new Date(this.#parts.clock.now()),
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof Failure) throw unauthorized();
      // What the token makes the library throw otherwise (bad base64, bad UTF-8) is the token's fault.
      if (error instanceof TypeError || error instanceof SyntaxError) throw unauthorized();
      throw error;
    }
  }

  #secretOf(kid: string | undefined): SigningKey['secret'] {
    const find = (): SigningKey | undefined => this.#signingKeys.find((key) => key.kid === kid);
    const nowMs = this.#parts.clock.monotonicMs();
    if (find() === undefined && nowMs - this.#signingKeysReadAtMs >= reloadIntervalMs) {
      this.#signingKeysReadAtMs = nowMs;
      this.#signingKeys = this.#parts.signingKeys();
    }
    const found = find();
    if (found === undefined) throw unauthorized();
    return found.secret;
  }

  /** What the stored records say about a key now. */
  #look(known: Known): Verified | undefined {
    const { store } = this.#parts;
    const record = store.apiKeys.get(known.keyId);
    if (record === undefined || record.revokedAtMs !== undefined) return undefined;
    const workspace = store.workspaces.get(record.workspaceNo);
    const membership = store.memberships.get([record.workspaceNo, record.userId]);
    if (workspace === undefined || membership === undefined) return undefined;
    // Rotation with an overlap shortens a key's life after it was signed.
    known.expiresAtMs = Math.min(known.expiresAtMs, record.expiresAtMs ?? Infinity);
    const actor: Actor = {
      userId: record.userId,
      workspaceId: workspace.id,
      workspaceNo: workspace.no,
      role: lesserRole(record.role, membership.role),
      keyId: record.id,
    };
    return { actor, limits: limitsOf(workspace) };
  }

  async #writeUses(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = [...this.#uses];
    await this.#parts.store.environment.transaction(() => {
      for (const [keyId, usedAtMs] of uses) this.#parts.store.keyUses.put(keyId, usedAtMs);
    });
    for (const [keyId, usedAtMs] of uses) {
      if (this.#uses.get(keyId) === usedAtMs) this.#uses.delete(keyId);
    }
  }
}

function unauthorized(): Failure {
  return new Failure('unauthorized', 'A valid API key is needed: Authorization: Bearer <API_KEY>');
}
