/**
 * Users: people with an e-mail address, members of workspaces by role.
 * An e-mail is looked up in lower case and Unicode NFC; it belongs to one user.
 */
import type { Clock } from '../model/clock.ts';
import { Failure, notFound } from '../model/failure.ts';
import type { IdSource } from '../model/ids.ts';
import { assertLine } from '../model/text.ts';
import type { Role, UserRecord } from '../model/workspace.ts';
import type { Management } from '../store/management/management.ts';
import { raiseAccessVersion } from './access.ts';
import { passwordMatches, type Passwords } from './passwords.ts';
import { workspaceRange } from './workspace-range.ts';
import type { WorkspaceNo } from '../model/numbers.ts';

const emailLengthMax = 254;
const nameLengthMax = 120;

export interface NewUser {
  readonly email: string;
  readonly name: string;
  /** Absent: the user cannot sign in by password. */
  readonly password?: string | undefined;
}

export class Users {
  readonly #store: Management;
  readonly #ids: IdSource;
  readonly #clock: Clock;
  readonly #passwords: Passwords;
  /** What an unknown user's password is compared with, so that both answers take the same time. */
  #decoyHash: Promise<string> | undefined;

  constructor(store: Management, ids: IdSource, clock: Clock, passwords: Passwords) {
    this.#store = store;
    this.#ids = ids;
    this.#clock = clock;
    this.#passwords = passwords;
  }

  /** Makes a user and a member of the workspace. @throws Failure conflict, not_found */
  async create(workspaceNo: WorkspaceNo, role: Role, user: NewUser): Promise<UserRecord> {
    const prepared = await this.prepare(user);
    return await this.#store.environment.transaction(() => {
      if (this.#store.workspaces.get(workspaceNo) === undefined) {
        throw notFound('workspace');
      }
      if (this.findByEmail(user.email) !== undefined) {
        throw new Failure('conflict', 'A user with this e-mail address exists already');
      }
      this.write(prepared, workspaceNo, role);
      return prepared;
    });
  }

  /** The record of a new user, its password hashed; nothing is stored yet. @throws Failure validation_failed */
  async prepare(user: NewUser): Promise<UserRecord> {
    const { email, name, password } = user;
    const long =
      email.length > emailLengthMax
        ? 'email'
        : Array.from(name).length > nameLengthMax
          ? 'name'
          : '';
    if (long !== '') {
      const faults = [{ path: long, code: 'too_long', message: 'Too many characters' }];
      throw new Failure('validation_failed', `Too long: ${long}`, { faults });
    }
    assertLine('name', name);
    const made = { id: this.#ids.newId('usr'), email, name, createdAtMs: this.#clock.now() };
    if (password === undefined) return made;
    return { ...made, passwordHash: await this.#passwords.hash(password) };
  }

  /** Stores a prepared user as a member. Inside a transaction that has looked for the e-mail. */
  write(user: UserRecord, workspaceNo: WorkspaceNo, role: Role): void {
    this.#store.users.put(user.id, user);
    this.#store.userEmails.put(foldEmail(user.email), user.id);
    this.addMember(workspaceNo, user.id, role);
  }

  /** Makes a known user a member. Inside a transaction that has looked for the membership. */
  addMember(workspaceNo: WorkspaceNo, userId: string, role: Role): void {
    const membership = { role, joinedAtMs: this.#clock.now() };
    this.#store.memberships.put([workspaceNo, userId], membership);
    this.#store.userWorkspaces.put([userId, workspaceNo], 1);
    raiseAccessVersion(this.#store);
  }

  find(userId: string): UserRecord | undefined {
    return this.#store.users.get(userId);
  }

  findByEmail(email: string): UserRecord | undefined {
    if (email.length > emailLengthMax) return undefined;
    const id = this.#store.userEmails.get(foldEmail(email));
    return id === undefined ? undefined : this.find(id);
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

  /** The user when e-mail and password belong together; the same time passes when there is no such user. */
  async authenticate(email: string, password: string): Promise<UserRecord | undefined> {
    const decoyHash = await this.#decoy();
    this.#store.environment.refresh();
    const user = this.findByEmail(email);
    const matches = await passwordMatches(password, user?.passwordHash ?? decoyHash);
    return matches && user?.passwordHash !== undefined ? user : undefined;
  }

  /** @returns the hash to store; the record is written in the transaction that ends the sessions */
  async hash(password: string): Promise<string> {
    return await this.#passwords.hash(password);
  }

  /** Made at the first sign-in; when that fails, at the next. */
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

/** How an e-mail is looked up: no spelling of one address is another user. */
export function foldEmail(email: string): string {
  return email.normalize('NFC').toLowerCase();
}
