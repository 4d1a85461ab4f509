/**
 * Users: people with an e-mail address, members of workspaces by role. An e-mail is looked up in lower case and
 * Unicode NFC.
 *
 * An address has one owner at most, an account whose mailbox is proven: by a link that went out by mail alone, or
 * by the operator's word (the first owner, `users create`, `users confirm`). An invite whose link was shown to
 * the inviter proves nothing: the account that it makes has the address in its workspace, not on the
 * installation. So an address may have several accounts:
 *
 *   user_emails         ceo@corp               -> usr_a        the owner, where there is one
 *   unproven_emails     [ceo@corp, usr_b]      -> 1            by an invite of workspace B
 *                       [ceo@corp, usr_c]      -> 1            by an invite of workspace C
 *
 * So an account can neither take an address from its owner nor keep others from joining with it elsewhere. The
 * password selects the account: the owner's first, then the newest. Checking it costs two hashes, however many
 * accounts an address has, so the time of an answer says nothing about them. A workspace has one account of an address at most,
 * and an unproven one ends with its last membership: an address has no more of them than there are workspaces.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure, invalid, notFound } from '../../model/failure.ts';
import type { IdSource } from '../../model/ids.ts';
import { foldEmail } from '../../model/fold.ts';
import { assertLine } from '../../model/text.ts';
import type { Role, UserRecord } from '../../model/workspace.ts';
import type { Range } from '../../store/environment.ts';
import type { Management } from '../../store/management/management.ts';
import { raiseAccessVersion } from './access.ts';
import {
  hashUnder,
  passwordLengthMax,
  passwordMatches,
  type Passwords,
  prefixIn,
} from './passwords.ts';
import { isSameText } from './secret-text.ts';
import { type WorkspaceNo, workspaceRange } from '../../model/numbers.ts';

export const emailLengthMax = 254;
export const nameLengthMax = 120;
/**
 * Nothing hidden or blank, and nothing that a mail's header would read as more than one address. The API asks for a
 * domain with a dot as well; the operator may have none.
 */
const addressShape =
  /^[^\s\p{C}@"(),:;<>[\\\]]+@[^\s\p{C}@"(),:;<>[\\\].]+(?:\.[^\s\p{C}@"(),:;<>[\\\].]+)*$/u;
/** Costs of hashing that the unproven accounts of an address have, from several versions of the program. */
const prefixesMax = 4;

export interface NewUser {
  readonly email: string;
  readonly name: string;
  /** Absent: the user cannot sign in by password. */
  readonly password?: string | undefined;
}

/** What a password says about an address. */
export interface Identified {
  /** Whose password it is. */
  readonly user: UserRecord | undefined;
  /** Its hash, for a further account of the address. */
  readonly passwordHash: string;
}

export class Users {
  readonly #store: Management;
  readonly #ids: IdSource;
  readonly #clock: Clock;
  readonly #passwords: Passwords;
  /** The hash for unknown users, so that both answers take the same time. */
  #decoyHash: Promise<string> | undefined;

  constructor(store: Management, ids: IdSource, clock: Clock, passwords: Passwords) {
    this.#store = store;
    this.#ids = ids;
    this.#clock = clock;
    this.#passwords = passwords;
  }

  /** Makes a user who owns the address, and is a member. @throws Failure conflict, not_found */
  async create(workspaceNo: WorkspaceNo, role: Role, user: NewUser): Promise<UserRecord> {
    const prepared = await this.prepare(user);
    return await this.#store.environment.transaction(() => {
      if (this.#store.workspaces.get(workspaceNo) === undefined) {
        throw notFound('workspace');
      }
      const isTaken = this.findByEmail(user.email) !== undefined;
      if (isTaken || this.memberWith(workspaceNo, user.email) !== undefined) {
        throw new Failure('conflict', 'A user with this e-mail address exists already');
      }
      this.write(prepared, workspaceNo, role);
      return prepared;
    });
  }

  /** Makes the record of a new user, with a hashed password, without storing it. @throws Failure validation_failed */
  async prepare(user: NewUser): Promise<UserRecord> {
    const { email, name, password } = user;
    assertPerson({ email, name });
    const made = { id: this.#ids.newId('usr'), email, name, createdAtMs: this.#clock.now() };
    if (password === undefined) return made;
    return { ...made, passwordHash: await this.#passwords.hash(password) };
  }

  /** Stores a prepared user as a member. Inside a transaction that has looked for the e-mail. */
  write(user: UserRecord, workspaceNo: WorkspaceNo, role: Role): void {
    this.addMember(workspaceNo, user.id, role);
    this.put(user);
  }

  /** Stores a user under the address that they have. Inside a transaction. @param before the record that this one replaces */
  put(user: UserRecord, before?: UserRecord): void {
    const { users, userEmails, people } = this.#store;
    if (before !== undefined) this.#removeAddress(before);
    users.put(user.id, user);
    const address = foldEmail(user.email);
    if (isProven(user)) userEmails.put(address, user.id);
    else if (this.#isMember(user.id)) people.unprovenEmails.put([address, user.id], 1);
  }

  /** Makes an account the owner of its address. Inside a transaction. @returns undefined where another is */
  prove(user: UserRecord): UserRecord | undefined {
    if (this.findByEmail(user.email) !== undefined) return undefined;
    const proven = asOwner(user);
    this.put(proven, user);
    return proven;
  }

  /** The operator confirms that the address is the user's. @throws Failure conflict where it has another owner */
  async confirm(user: UserRecord): Promise<UserRecord> {
    return await this.#store.environment.transaction(() => {
      const found = this.find(user.id);
      if (found === undefined) throw notFound('user');
      const owner = this.findByEmail(found.email);
      const proven = owner?.id === found.id ? owner : this.prove(found);
      if (proven !== undefined) return proven;
      throw new Failure(
        'conflict',
        `Cannot confirm ${found.id}: ${owner?.id} is confirmed for ${found.email}, expected no other user`,
      );
    });
  }

  /** Makes a known user a member. Inside a transaction that has looked for the membership. */
  addMember(workspaceNo: WorkspaceNo, userId: string, role: Role): void {
    const membership = { role, joinedAtMs: this.#clock.now() };
    this.#store.memberships.put([workspaceNo, userId], membership);
    this.#store.userWorkspaces.put([userId, workspaceNo], 1);
    raiseAccessVersion(this.#store);
  }

  /** Inside a transaction. */
  removeMember(workspaceNo: WorkspaceNo, userId: string): void {
    const { memberships, userWorkspaces } = this.#store;
    memberships.remove([workspaceNo, userId]);
    userWorkspaces.remove([userId, workspaceNo]);
    const user = this.find(userId);
    if (user !== undefined && !isProven(user) && !this.#isMember(userId)) this.#removeAddress(user);
    raiseAccessVersion(this.#store);
  }

  /** By number, ascending. */
  *workspacesOf(userId: string): Generator<WorkspaceNo> {
    const range = { start: [userId, 0], end: [userId, 2 ** 32] } satisfies Range<[string, number]>;
    for (const [, workspaceNo] of this.#store.userWorkspaces.keys(range)) yield workspaceNo;
  }

  /** Every user, oldest first. */
  *all(): Generator<UserRecord> {
    for (const { value } of this.#store.users.range({})) yield value;
  }

  find(userId: string): UserRecord | undefined {
    return this.#store.users.get(userId);
  }

  /**
   * For the operator: the account that an id names, or an address that one account has.
   * @throws Failure not_found, conflict
   */
  get(reference: string): UserRecord {
    const byId = this.find(reference);
    const [found, ...others] = byId === undefined ? this.accountsOf(reference) : [byId];
    if (found === undefined) throw new Failure('not_found', `There is no user ${reference}`);
    if (others.length === 0) return found;
    const all = [found, ...others].map((user) => `  ${this.#described(user)}`).join('\n');
    throw new Failure(
      'conflict',
      `Several accounts have this address, name one by its id:\n${all}`,
    );
  }

  /** The owner of an address. */
  findByEmail(email: string): UserRecord | undefined {
    if (email.length > emailLengthMax) return undefined;
    const id = this.#store.userEmails.get(foldEmail(email));
    return id === undefined ? undefined : this.find(id);
  }

  /** The accounts of an address: its owner, then the others, newest first. */
  accountsOf(email: string): UserRecord[] {
    const owner = this.findByEmail(email);
    const others = [...this.#unprovenIds(email)].flatMap((id) => this.find(id) ?? []);
    return owner === undefined ? others : [owner, ...others];
  }

  /** The account of the same address with the same password, made since `identify`. */
  twinOf({ email, passwordHash }: UserRecord): UserRecord | undefined {
    return this.accountsOf(email).find((user) => user.passwordHash === passwordHash);
  }

  /** The member of a workspace who has this address there. */
  memberWith(workspaceNo: WorkspaceNo, email: string): string | undefined {
    const owner = this.#store.userEmails.get(foldEmail(email));
    if (owner !== undefined && this.roleIn(workspaceNo, owner) !== undefined) return owner;
    for (const id of this.#unprovenIds(email)) {
      if (this.roleIn(workspaceNo, id) !== undefined) return id;
    }
    return undefined;
  }

  /** The user's role in a workspace; undefined when no member. */
  roleIn(workspaceNo: WorkspaceNo, userId: string): Role | undefined {
    return this.#store.memberships.get([workspaceNo, userId])?.role;
  }

  /** The first owner of a workspace, by id: the user of keys that are made on the command line. */
  firstOwner(workspaceNo: WorkspaceNo): UserRecord | undefined {
    for (const { key, value } of this.#store.memberships.range(workspaceRange(workspaceNo))) {
      if (value.role === 'owner') return this.find(key[1]);
    }
    return undefined;
  }

  /** The account of an address with this password; takes as long if there is none. */
  async authenticate(email: string, password: string): Promise<UserRecord | undefined> {
    if (password.length > passwordLengthMax) return undefined;
    return (await this.identify(email, password)).user;
  }

  /** @throws Failure validation_failed for a password that is too long, overloaded */
  async identify(email: string, password: string): Promise<Identified> {
    const decoyHash = await this.#decoy();
    this.#store.environment.refresh();
    const owner = this.findByEmail(email);
    const others = this.accountsOf(email).filter((user) => !isProven(user));
    const prefix = this.#passwords.prefixOf(foldEmail(email));
    const stored = others.flatMap(({ passwordHash }) => passwordHash ?? []);
    const prefixes = [...new Set([prefix, ...stored.map(prefixIn)])].slice(0, prefixesMax);
    const [isOwner, ...hashes] = await Promise.all([
      passwordMatches(password, owner?.passwordHash ?? decoyHash),
      ...prefixes.map((each) => hashUnder(each, password)),
    ]);
    const [passwordHash = ''] = hashes;
    if (isOwner && owner?.passwordHash !== undefined) return { user: owner, passwordHash };
    const isTheirs = ({ passwordHash: own = '' }: UserRecord): boolean =>
      hashes.some((made) => isSameText(made, own));
    return { user: others.find(isTheirs), passwordHash };
  }

  /** @returns the hash to store; the record is written in the transaction that ends the sessions */
  async hash(user: UserRecord, password: string): Promise<string> {
    if (isProven(user)) return await this.#passwords.hash(password);
    return await hashUnder(this.#passwords.prefixOf(foldEmail(user.email)), password);
  }

  #described(user: UserRecord): string {
    const where = [...this.workspacesOf(user.id)].map(
      (no) => this.#store.workspaces.get(no)?.name ?? '',
    );
    const state = isProven(user) ? 'confirmed' : 'not confirmed';
    return `${user.id}  ${user.name}, ${state}, in ${where.join(', ') || 'no workspace'}`;
  }

  #isMember(userId: string): boolean {
    const [first] = this.workspacesOf(userId);
    return first !== undefined;
  }

  *#unprovenIds(email: string): Generator<string> {
    if (email.length > emailLengthMax) return;
    const address = foldEmail(email);
    const { unprovenEmails } = this.#store.people;
    const newestFirst: Range<[string, string]> = {
      start: [address, '\uffff'],
      end: [address, ''],
      reverse: true,
    };
    for (const [, id] of unprovenEmails.keys(newestFirst)) yield id;
  }

  #removeAddress(user: UserRecord): void {
    const { userEmails, people } = this.#store;
    const address = foldEmail(user.email);
    if (userEmails.get(address) === user.id) userEmails.remove(address);
    people.unprovenEmails.remove([address, user.id]);
  }

  /** Made at the first sign-in, or at the next one if that fails. */
  async #decoy(): Promise<string> {
    this.#decoyHash ??= this.#passwords.hash('no such user');
    try {
      return await this.#decoyHash;
    } catch (error) {
      this.#decoyHash = undefined;
      throw error;
    }
  }
}

/** Name and e-mail address have a form that can be stored and shown. @throws Failure validation_failed */
export function assertPerson({ email, name }: Pick<UserRecord, 'email' | 'name'>): void {
  const long =
    email.length > emailLengthMax ? 'email' : Array.from(name).length > nameLengthMax ? 'name' : '';
  if (long !== '') {
    const faults = [{ path: long, code: 'too_long', message: 'Too many characters' }];
    throw new Failure('validation_failed', `Too long: ${long}`, { faults });
  }
  assertLine('name', name);
  if (!addressShape.test(email)) {
    throw invalid('email', 'invalid_format', 'Expected an e-mail address');
  }
}

/** Whether the account owns its address. */
export function isProven(user: UserRecord): boolean {
  return user.mailboxProven !== false;
}

/** The account as the owner of its address. */
export function asOwner(user: UserRecord): UserRecord {
  const { mailboxProven: _, ...owner } = user;
  return owner;
}
