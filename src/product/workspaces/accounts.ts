/**
 * Signs users in and changes passwords. Throttle, hash and session have one order, so that no way to sign in skips a step. A
 * wrong password and an unknown e-mail get the same answer after the same work.
 * An address may have several accounts (users.ts): the password selects one.
 */
import { Failure, notFound } from '../../model/failure.ts';
import { foldEmail } from '../../model/fold.ts';
import type { Actor, InviteRecord, UserRecord } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import type { Sessions } from './sessions.ts';
import type { AttemptSource, SignInThrottle } from './sign-in-throttle.ts';
import { assertStrong, passwordMatches } from './passwords.ts';
import { isProven, type Users } from './users.ts';

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
    const { user } = await this.#attempt(email, { client: address }, async () => ({
      user: await this.#users.authenticate(email, password),
    }));
    if (user !== undefined) return user;
    throw new Failure('unauthorized', 'The e-mail address or the password is wrong');
  }

  /** This user if the password is theirs, never another account of their address. @throws Failure as above */
  async verifyOwn(userId: string, password: string, address: string): Promise<UserRecord> {
    const user = this.#users.find(userId);
    const stored = user?.passwordHash;
    const { user: verified } = await this.#attempt(
      user?.email ?? '',
      { client: address },
      async () => {
        const matches = stored !== undefined && (await passwordMatches(password, stored));
        return { user: matches ? user : undefined };
      },
    );
    if (verified !== undefined) return verified;
    throw new Failure('unauthorized', 'The password is wrong');
  }

  /**
   * Counts a password that is set for an address as a failed sign-in there. Otherwise a person could set passwords
   * and sign in with them, uncounted, to try those of other accounts of the address. @throws Failure rate_limited
   */
  countGuess(email: string, address: string): void {
    this.#throttle.begin(foldEmail(email), { client: address });
  }

  /** Counts as failed in the throttle unless it finds a user. */
  async #attempt<T extends { readonly user: UserRecord | undefined }>(
    email: string,
    source: AttemptSource,
    check: () => Promise<T>,
  ): Promise<T> {
    const attempt = this.#throttle.begin(foldEmail(email), source);
    let checked: T;
    try {
      checked = await check();
    } catch (error) {
      attempt.withdraw();
      throw error;
    }
    const { user } = checked;
    if (user !== undefined && isProven(user)) attempt.succeed();
    else if (user !== undefined) attempt.withdraw();
    return checked;
  }

  /** The other sessions end. @throws Failure unauthorized (old password), rate_limited, validation_failed */
  async changePassword(
    userId: string,
    passwords: { readonly old: string; readonly new: string },
    at: { readonly address: string; readonly sessionHash: string },
  ): Promise<void> {
    const verified = await this.verifyOwn(userId, passwords.old, at.address);
    await assertStrong('newPassword', passwords.new, [verified.email, verified.name]);
    if (!isProven(verified)) this.countGuess(verified.email, at.address);
    const passwordHash = await this.#users.hash(verified, passwords.new);
    await this.#store.environment.transaction(() => {
      const found = this.#store.users.get(userId);
      if (found === undefined || found.passwordHash !== verified.passwordHash) {
        throw new Failure('conflict', 'Cannot change the password: it was changed just now');
      }
      this.#store.users.put(userId, { ...found, passwordHash });
      this.#sessions.removeOthers(userId, at.sessionHash);
    });
  }

  /**
   * For the operator: every session of the user ends.
   * @param reference an id, or the address of one account @throws Failure not_found, conflict
   */
  async resetPassword(reference: string, password: string): Promise<UserRecord> {
    const user = this.#users.get(reference);
    const passwordHash = await this.#users.hash(user, password);
    return await this.#store.environment.transaction(() => {
      const found = this.#users.find(user.id);
      if (found === undefined) throw notFound('user');
      const changed = { ...found, passwordHash };
      this.#store.users.put(found.id, changed);
      this.#sessions.removeOthers(found.id, undefined);
      return changed;
    });
  }

  /**
   * The user who accepts an invite: signed in with its e-mail; else the account of its e-mail with the given
   * password; else a new one. What is needed, the work and the answer are the same in both cases: the holder
   * of a token learns nothing about accounts elsewhere. So each try is a guess, and counts as one.
   * @throws Failure forbidden (signed in as another), validation_failed, rate_limited, overloaded
   */
  async invitee(
    invite: InviteRecord,
    given: { readonly name?: string | undefined; readonly password?: string | undefined },
    userId: string | undefined,
  ): Promise<{ known: UserRecord } | { fresh: UserRecord }> {
    const { name, password } = given;
    const { email } = invite;
    const signedIn = userId === undefined ? undefined : this.#users.find(userId);
    if (signedIn !== undefined && password === undefined) {
      if (foldEmail(signedIn.email) === foldEmail(email)) return { known: signedIn };
      throw new Failure('forbidden', 'The invite is for another e-mail address than you have here');
    }
    if (name === undefined || password === undefined) {
      throw missing({ name, password });
    }
    await assertStrong('password', password, [email, name]);
    const prepared = await this.#users.prepare({ email, name });
    const source = { invitesOf: invite.workspaceNo };
    const { user: known, passwordHash } = await this.#attempt(email, source, () =>
      this.#users.identify(email, password),
    );
    return known === undefined ? { fresh: { ...prepared, passwordHash } } : { known };
  }
}

function missing(given: Readonly<Record<string, string | undefined>>): Failure {
  const paths = Object.keys(given).filter((path) => given[path] === undefined);
  const faults = paths.map((path) => ({ path, code: 'required', message: 'This is required' }));
  return new Failure('validation_failed', `Needed to accept: ${paths.join(', ')}`, { faults });
}
