/**
 * Signing in and passwords: throttle, hash and session in one order, so that no way to sign in leaves out
 * a step. A wrong password and an unknown e-mail get the same answer after the same work.
 */
import { Failure, invalid } from '../model/failure.ts';
import type { Actor, InviteRecord, UserRecord } from '../model/workspace.ts';
import type { Management } from '../store/management/management.ts';
import type { Sessions } from './sessions.ts';
import type { SignInThrottle } from './sign-in-throttle.ts';
import { foldEmail, type Users } from './users.ts';

/** Of passwords that people choose; the operator may set others. */
export const passwordLengthMin = 8;

export class Accounts {
  readonly #store: Management;
  readonly #users: Users;
  readonly #sessions: Sessions;
  readonly #throttle: SignInThrottle;

  constructor(store: Management, users: Users, sessions: Sessions, throttle: SignInThrottle) {
    this.#store = store;
    this.#users = users;
    this.#sessions = sessions;
    this.#throttle = throttle;
  }

  /** @throws Failure unauthorized, rate_limited, overloaded, forbidden */
  async signIn(
    email: string,
    password: string,
    address: string,
  ): Promise<{ user: UserRecord; secret: string; csrfToken: string; actor: Actor }> {
    const user = await this.verifyPassword(email, password, address);
    return { user, ...(await this.#sessions.begin(user.id, user.passwordHash)) };
  }

  /** The user with this e-mail and password. @throws Failure unauthorized, rate_limited, overloaded */
  async verifyPassword(email: string, password: string, address: string): Promise<UserRecord> {
    const attempt = this.#throttle.begin(foldEmail(email), address);
    let user: UserRecord | undefined;
    try {
      user = await this.#users.authenticate(email, password);
    } catch (error) {
      attempt.withdraw();
      throw error;
    }
    if (user === undefined) {
      throw new Failure('unauthorized', 'The e-mail address or the password is wrong');
    }
    attempt.succeed();
    return user;
  }

  /** The other sessions end. @throws Failure unauthorized (old password), rate_limited, validation_failed */
  async changePassword(
    userId: string,
    passwords: { readonly old: string; readonly new: string },
    at: { readonly address: string; readonly sessionHash: string },
  ): Promise<void> {
    const email = this.#users.find(userId)?.email ?? '';
    const verified = await this.verifyPassword(email, passwords.old, at.address);
    const passwordHash = await this.#users.hash(passwords.new);
    await this.#store.environment.transaction(() => {
      const found = this.#store.users.get(userId);
      if (found === undefined || found.passwordHash !== verified.passwordHash) {
        throw new Failure('conflict', 'Cannot change the password: it was changed just now');
      }
      this.#store.users.put(userId, { ...found, passwordHash });
      this.#sessions.removeOthers(userId, at.sessionHash);
    });
  }

  /** For the operator: every session of the user ends. @throws Failure not_found */
  async resetPassword(email: string, password: string): Promise<UserRecord> {
    const passwordHash = await this.#users.hash(password);
    return await this.#store.environment.transaction(() => {
      const found = this.#users.findByEmail(email);
      if (found === undefined) {
        throw new Failure('not_found', 'There is no user with this e-mail address');
      }
      const changed = { ...found, passwordHash };
      this.#store.users.put(found.id, changed);
      this.#sessions.removeOthers(found.id, undefined);
      return changed;
    });
  }

  /**
   * The user who accepts an invite: signed in with its e-mail, known by password, or new.
   * @throws Failure forbidden (signed in as another), unauthorized, validation_failed, rate_limited
   */
  async invitee(
    invite: InviteRecord,
    given: { readonly name?: string | undefined; readonly password?: string | undefined },
    at: { readonly address: string; readonly userId: string | undefined },
  ): Promise<{ known: UserRecord } | { fresh: UserRecord }> {
    const { name, password } = given;
    const signedIn = at.userId === undefined ? undefined : this.#users.find(at.userId);
    if (signedIn !== undefined && password === undefined) {
      if (foldEmail(signedIn.email) === foldEmail(invite.email)) return { known: signedIn };
      throw new Failure('forbidden', 'The invite is for another e-mail address than you have here');
    }
    const isKnown = this.#users.findByEmail(invite.email) !== undefined;
    const missing = [
      ...(isKnown || name !== undefined ? [] : ['name']),
      ...(password === undefined ? ['password'] : []),
    ];
    if (missing.length > 0 || password === undefined) {
      const faults = missing.map((path) => ({
        path,
        code: 'required',
        message: 'This is required',
      }));
      throw new Failure('validation_failed', `Needed to accept: ${missing.join(', ')}`, { faults });
    }
    if (isKnown) return { known: await this.verifyPassword(invite.email, password, at.address) };
    if (password.length < passwordLengthMin) {
      throw invalid('password', 'too_short', `Expected at least ${passwordLengthMin} characters`);
    }
    const { email } = invite;
    return { fresh: await this.#users.prepare({ email, name: name ?? '', password }) };
  }
}
