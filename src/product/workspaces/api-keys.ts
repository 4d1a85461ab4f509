/**
 * API keys: created, rotated with an overlap, revoked, and verified by their tokens.
 *
 * The first request with a token verifies its signature (about 50 µs); later ones find it by the
 * SHA-256 of the token: what an attacker can time is the comparison of hashes that he cannot choose.
 * The key's record is looked at again whenever anything about access has changed, in this process or
 * another, so a revocation holds on the next request. Tokens are never stored or logged.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Failure, invalid, notFound } from '../../model/failure.ts';
import { parseId, type IdSource } from '../../model/ids.ts';
import { assertLine } from '../../model/text.ts';
import {
  lesserRole,
  limitsOf,
  roleAtLeast,
  type Actor,
  type ApiKeyRecord,
  type PlanLimits,
  type Role,
  type WorkspaceRecord,
} from '../../model/workspace.ts';
import { accessVersion, raiseAccessVersion } from './access.ts';
import { KeyTokens, type KeyTokensOptions, unauthorized } from './key-tokens.ts';
import { LastUses } from './delayed-write.ts';
import { type WorkspaceNo, workspaceRange } from '../../model/numbers.ts';

/** Ours have about 330 characters; a longer one is refused without a hash. */
const tokenLengthMax = 2_048;
/** Verified tokens kept in memory, about 600 bytes each. */
const verifiedMax = 10_000;
const keyNameLengthMax = 120;
/** Keys of a workspace that work at the same time; counted one by one only beyond the other number. */
const liveKeysMax = 1_000;
const keysMax = 1_000;

export interface NewApiKey {
  readonly workspaceNo: WorkspaceNo;
  readonly userId: string;
  readonly name: string;
  readonly role: Role;
  readonly expiresAtMs?: number | undefined;
  /** Role of the member who asks for it; absent on the command line. */
  readonly grantor?: Role;
}

export interface MadeKey {
  readonly record: ApiKeyRecord;
  /** In the answer and nowhere else. */
  readonly token: string;
}

export interface Verified {
  readonly actor: Actor;
  /** For `Quota.take`. */
  readonly limits: PlanLimits;
}

export interface ApiKeysOptions extends KeyTokensOptions {
  readonly ids: IdSource;
}

/** A token whose signature was verified. */
interface Known {
  readonly keyId: string;
  version: number;
  /** Undefined: the key is revoked, or its user is not a member any more. */
  verified: Verified | undefined;
  expiresAtMs: number;
}

export class ApiKeys {
  readonly #options: ApiKeysOptions;
  readonly #tokens: KeyTokens;
  /** By the SHA-256 of the token. With `max` the library allocates for that many at once. */
  readonly #known = new LRUCache<string, Known>({
    maxSize: verifiedMax,
    sizeCalculation: () => 1,
  });
  readonly #uses: LastUses;

  constructor(options: ApiKeysOptions) {
    this.#options = options;
    this.#tokens = new KeyTokens(options);
    const { store } = options;
    this.#uses = new LastUses(store, (keyId, usedAtMs) => store.keyUses.put(keyId, usedAtMs));
  }

  /**
   * Makes a key; the token is in the answer and nowhere else.
   * @param inTransaction runs in the same transaction
   * @throws Failure validation_failed, not_found (workspace, or no member), forbidden (a role above the user's)
   */
  async create(key: NewApiKey, inTransaction?: (made: MadeKey) => void): Promise<MadeKey> {
    const { store, ids, clock } = this.#options;
    const { workspaceNo, userId, name, role, expiresAtMs, grantor = 'owner' } = key;
    if (name === '' || Array.from(name).length > keyNameLengthMax) {
      throw invalid('name', 'invalid_name', `A name of 1 to ${keyNameLengthMax} characters`);
    }
    assertLine('name', name);
    const made = await this.#prepare({
      id: ids.newId('key'),
      workspaceNo,
      userId,
      name,
      role,
      createdAtMs: clock.now(),
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    });
    return await store.environment.transaction(() => {
      this.#write(made, grantor);
      inTransaction?.(made);
      return made;
    });
  }

  /** Makes the owner's key of a new workspace, without storing it. */
  async prepareFirst({ no, id }: WorkspaceRecord, userId: string): Promise<MadeKey> {
    const { ids, clock } = this.#options;
    const record: ApiKeyRecord = {
      id: ids.newId('key'),
      workspaceNo: no,
      userId,
      name: 'First key',
      role: 'owner',
      createdAtMs: clock.now(),
    };
    return { record, token: await this.#tokens.sign(record, id) };
  }

  /** Stores it; inside the transaction that makes the workspace and its owner. */
  writeFirst(made: MadeKey): void {
    this.#write(made, 'owner');
  }

  /**
   * Makes a key in place of another, which works for `overlapMs` more; both act for the caller. If the old
   * key expires, the new one gets its original lifetime, even if a rotation has shortened that.
   * @throws Failure not_found (also revoked or expired), forbidden for a key above the actor's role
   */
  async rotate(
    actor: Pick<Actor, 'workspaceNo' | 'userId' | 'role'>,
    keyId: string,
    overlapMs: number,
    inTransaction?: (made: MadeKey) => void,
  ): Promise<MadeKey> {
    const { store, ids, clock } = this.#options;
    const { workspaceNo, userId, role } = actor;
    const old = this.#live(workspaceNo, keyId);
    const createdAtMs = clock.now();
    const { expiresAtMs: oldEndMs, madeToEndAtMs = oldEndMs ?? null, ...kept } = old;
    const lifeMs = madeToEndAtMs === null ? undefined : madeToEndAtMs - old.createdAtMs;
    const made = await this.#prepare({
      ...kept,
      id: ids.newId('key'),
      userId,
      createdAtMs,
      ...(lifeMs === undefined ? {} : { expiresAtMs: createdAtMs + lifeMs }),
    });
    return await store.environment.transaction(() => {
      const found = this.#live(workspaceNo, keyId);
      // Another request has rotated or shortened it meanwhile: this one is refused.
      if (found.expiresAtMs !== oldEndMs) {
        throw new Failure('conflict', 'Cannot rotate the key: it was rotated just now');
      }
      this.#write(made, role);
      const expiresAtMs = Math.min(oldEndMs ?? Infinity, createdAtMs + overlapMs);
      store.apiKeys.put(keyId, { ...found, expiresAtMs, madeToEndAtMs });
      inTransaction?.(made);
      return made;
    });
  }

  /** The actor of a token. @throws Failure unauthorized */
  async verify(token: string): Promise<Verified> {
    const { store, clock } = this.#options;
    if (token === '' || token.length > tokenLengthMax) throw unauthorized();
    const digest = hash('sha256', token, 'base64');
    store.environment.refresh();
    const known = this.#known.get(digest) ?? (await this.#verifyNew(digest, token));
    const version = accessVersion(store);
    if (known.version !== version) {
      known.verified = this.#accessNow(known);
      known.version = version;
    }
    const nowMs = clock.now();
    if (known.verified === undefined || nowMs >= known.expiresAtMs) throw unauthorized();
    this.#uses.note(known.keyId, nowMs);
    return known.verified;
  }

  /**
   * Revokes the key from the next request on.
   * @throws Failure not_found, also the second time; forbidden for a key above the actor's role
   */
  async revoke(workspaceNo: WorkspaceNo, keyId: string, grantor: Role = 'owner'): Promise<void> {
    const { store, clock } = this.#options;
    await store.environment.transaction(() => {
      const record = this.#unrevoked(workspaceNo, keyId);
      assertGrants(grantor, record.role);
      store.apiKeys.put(keyId, { ...record, revokedAtMs: clock.now() });
      raiseAccessVersion(store);
    });
  }

  /** A workspace's keys, oldest first, revoked ones too. */
  list(workspaceNo: WorkspaceNo): ApiKeyRecord[] {
    const { store } = this.#options;
    const keys: ApiKeyRecord[] = [];
    for (const [, id] of store.workspaceKeys.keys(workspaceRange(workspaceNo))) {
      const record = store.apiKeys.get(id);
      if (record !== undefined) keys.push(record);
    }
    return keys;
  }

  lastUsedAtMs(keyId: string): number | undefined {
    return this.#uses.get(keyId) ?? this.#options.store.keyUses.get(keyId);
  }

  async close(): Promise<void> {
    await this.#uses.close();
  }

  /** The key's workspace, wherever it is: for the command line. */
  find(keyId: string): ApiKeyRecord | undefined {
    return this.#options.store.apiKeys.get(keyId);
  }

  /** @throws Failure not_found */
  #unrevoked(workspaceNo: WorkspaceNo, keyId: string): ApiKeyRecord {
    const record = this.#options.store.apiKeys.get(keyId);
    if (record?.workspaceNo !== workspaceNo || record.revokedAtMs !== undefined) {
      throw notFound('API key');
    }
    return record;
  }

  /** @throws Failure not_found */
  #live(workspaceNo: WorkspaceNo, keyId: string): ApiKeyRecord {
    const record = this.#unrevoked(workspaceNo, keyId);
    if (this.#options.clock.now() < (record.expiresAtMs ?? Infinity)) return record;
    throw new Failure('not_found', 'The API key has expired');
  }

  async #prepare(record: ApiKeyRecord): Promise<MadeKey> {
    const workspace = this.#options.store.workspaces.get(record.workspaceNo);
    if (workspace === undefined) throw notFound('workspace');
    return { record, token: await this.#tokens.sign(record, workspace.id) };
  }

  /** Inside a transaction, before anything else is written. @throws Failure not_found, forbidden, conflict */
  #write({ record }: MadeKey, grantor: Role): void {
    const { store } = this.#options;
    const { id, workspaceNo, userId, role } = record;
    const membership = store.memberships.get([workspaceNo, userId]);
    if (membership === undefined) throw notFound('member');
    assertGrants(lesserRole(grantor, membership.role), role);
    const range = workspaceRange(workspaceNo);
    if (
      store.workspaceKeys.count(range) >= keysMax &&
      this.#liveCount(workspaceNo) >= liveKeysMax
    ) {
      throw new Failure('conflict', `Cannot make a key: there are ${liveKeysMax}, expected fewer`);
    }
    store.apiKeys.put(id, record);
    store.workspaceKeys.put([workspaceNo, id], 1);
    raiseAccessVersion(store);
  }

  #liveCount(workspaceNo: WorkspaceNo): number {
    const nowMs = this.#options.clock.now();
    const isLive = ({ revokedAtMs, expiresAtMs = Infinity }: ApiKeyRecord): boolean =>
      revokedAtMs === undefined && nowMs < expiresAtMs;
    return this.list(workspaceNo).filter(isLive).length;
  }

  async #verifyNew(digest: string, token: string): Promise<Known> {
    const claims = await this.#tokens.read(token);
    const keyId = parseId('key', claims.jti ?? '');
    const record = keyId === undefined ? undefined : this.#options.store.apiKeys.get(keyId);
    if (record === undefined || record.userId !== claims.sub) throw unauthorized();
    const workspace = this.#options.store.workspaces.get(record.workspaceNo);
    if (workspace?.id !== claims.ws || record.role !== claims.role) throw unauthorized();
    const claimed = claims.exp === undefined ? Infinity : claims.exp * 1_000;
    const known: Known = {
      keyId: record.id,
      // No version is negative: the record is read before the first use too.
      version: -1,
      verified: undefined,
      expiresAtMs: Math.min(claimed, record.expiresAtMs ?? Infinity),
    };
    this.#known.set(digest, known);
    return known;
  }

  /** What the stored records say about a key now. */
  #accessNow(known: Known): Verified | undefined {
    const { store } = this.#options;
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
}

/** @throws Failure forbidden */
function assertGrants(grantor: Role, role: Role): void {
  if (roleAtLeast(grantor, role)) return;
  throw new Failure('forbidden', `A key for ${role} needs a member with that role or above`);
}
