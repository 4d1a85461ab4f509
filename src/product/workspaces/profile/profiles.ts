/**
 * A person's own name and e-mail address.
 *
 * Where mail is sent, a new address holds once a link that was mailed to it is opened by the same person, signed
 * in: a stranger who gets the mail by a mistyped address can confirm nothing. Where no mail is
 * sent, it holds at once and is unproven (users.ts): it counts in the person's own workspaces alone. Neither
 * takes an address from its owner, and the answers do not show whether it has one.
 *
 *   email_changes       "usr_…" -> the address, the SHA-256 of the token, when it ends; at most one a person
 *
 * Each change is checked whole before it writes.
 */
import type { Clock } from '../../../model/clock.ts';
import { dayMs } from '../../../model/day.ts';
import { Failure, notFound } from '../../../model/failure.ts';
import { foldEmail } from '../../../model/fold.ts';
import type { RandomBytes } from '../../../model/ids.ts';
import type { EmailChangeRecord, UserRecord } from '../../../model/workspace.ts';
import type { Management } from '../../../store/management/management.ts';
import { hashOf, isSameText, randomText } from '../secret-text.ts';
import { asOwner, assertPerson, type Users } from '../users.ts';

const tokenBytes = 32;
const lifeMs = dayMs;
/** Between two mails that one person asks for: they may go to strangers. */
const pauseMs = 60_000;

export interface AskedAddress {
  readonly email: string;
  /** For the mail alone. */
  readonly token: string;
  readonly expiresAtMs: number;
}

export interface ProfilesOptions {
  readonly store: Management;
  readonly users: Users;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

export class Profiles {
  readonly #options: ProfilesOptions;

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  /** The address that waits to be confirmed. */
  pendingEmail(userId: string): string | undefined {
    const { store, clock } = this.#options;
    const asked = store.people.emailChanges.get(userId);
    return asked !== undefined && clock.now() < asked.expiresAtMs ? asked.email : undefined;
  }

  /** @throws Failure not_found */
  async rename(userId: string, name: string): Promise<UserRecord> {
    return await this.#change(userId, (user) => ({ ...user, name }));
  }

  /**
   * Where no mail is sent: the address holds at once, unproven.
   * @param verified the record whose password was given; it is hashed again, for the new address
   * @throws Failure conflict: it is a fellow member's, or the account was changed meanwhile
   */
  async takeAddress(verified: UserRecord, email: string, password: string): Promise<UserRecord> {
    const { users, store } = this.#options;
    const changed = { ...verified, email: email.normalize('NFC'), mailboxProven: false } as const;
    const passwordHash = await users.hash(changed, password);
    return await this.#change(verified.id, (user) => {
      if (user.passwordHash !== verified.passwordHash || user.email !== verified.email) {
        throw changedMeanwhile();
      }
      this.#assertFree(user.id, email);
      store.people.emailChanges.remove(user.id);
      return { ...user, email: changed.email, mailboxProven: false, passwordHash };
    });
  }

  /** Another spelling of the same address. @throws Failure conflict where it is another by now */
  async respell(userId: string, email: string): Promise<UserRecord> {
    return await this.#change(userId, (user) => {
      if (foldEmail(user.email) === foldEmail(email)) {
        return { ...user, email: email.normalize('NFC') };
      }
      throw changedMeanwhile();
    });
  }

  /** Where mail is sent: the address holds once its token comes back. @throws Failure conflict, rate_limited */
  async askForAddress(userId: string, email: string): Promise<AskedAddress> {
    const { store, clock, randomBytes } = this.#options;
    const token = randomText(tokenBytes, randomBytes);
    return await store.environment.transaction(() => {
      const createdAtMs = clock.now();
      const waitMs =
        (store.people.emailChanges.get(userId)?.createdAtMs ?? 0) + pauseMs - createdAtMs;
      if (waitMs > 0) {
        const retryAfterSeconds = Math.ceil(waitMs / 1_000);
        const text = `A mail was sent just now, the next one is possible in ${retryAfterSeconds} s`;
        throw new Failure('rate_limited', text, { retryAfterSeconds });
      }
      this.#assertFree(userId, email);
      const asked: EmailChangeRecord = {
        email: email.normalize('NFC'),
        tokenHash: hashOf(token),
        createdAtMs,
        expiresAtMs: createdAtMs + lifeMs,
      };
      store.people.emailChanges.put(userId, asked);
      return { email: asked.email, token, expiresAtMs: asked.expiresAtMs };
    });
  }

  /** The mailed token of the person's own change. @throws Failure not_found, gone, conflict */
  async confirmAddress(userId: string, token: string): Promise<UserRecord> {
    const { store, clock } = this.#options;
    return await this.#change(userId, (user) => {
      const asked = store.people.emailChanges.get(userId);
      if (asked === undefined || !isSameText(asked.tokenHash, hashOf(token))) {
        throw new Failure('not_found', 'There is no change of your address with this token');
      }
      if (clock.now() >= asked.expiresAtMs) {
        throw new Failure('gone', 'The link has expired; change the address again');
      }
      return this.#ownerOf(asked.email, user, 'another account');
    });
  }

  /** The operator confirms that the address is theirs. @throws Failure not_found, conflict */
  async assign(userId: string, email: string): Promise<UserRecord> {
    return await this.#change(userId, (user) => {
      const owner = this.#options.users.findByEmail(email);
      return this.#ownerOf(email.normalize('NFC'), user, owner?.id ?? '');
    });
  }

  /** The user as the owner of an address. @param other for the message: who owns it @throws Failure conflict */
  #ownerOf(email: string, user: UserRecord, other: string): UserRecord {
    const { store, users } = this.#options;
    this.#assertFree(user.id, email);
    const owner = users.findByEmail(email);
    if (owner !== undefined && owner.id !== user.id) {
      throw new Failure('conflict', `Cannot change the address: it is that of ${other}`);
    }
    store.people.emailChanges.remove(user.id);
    return { ...asOwner(user), email };
  }

  /** No two members of a workspace have the same address there. @throws Failure conflict */
  #assertFree(userId: string, email: string): void {
    const { users } = this.#options;
    for (const workspaceNo of users.workspacesOf(userId)) {
      const member = users.memberWith(workspaceNo, email);
      if (member === undefined || member === userId) continue;
      throw new Failure('conflict', 'A member of your workspace has this e-mail address');
    }
  }

  /** @param change throws before it writes */
  async #change(userId: string, change: (user: UserRecord) => UserRecord): Promise<UserRecord> {
    const { store, users } = this.#options;
    return await store.environment.transaction(() => {
      const user = users.find(userId);
      if (user === undefined) throw notFound('user');
      const changed = change(user);
      assertPerson(changed);
      users.put(changed, user);
      return changed;
    });
  }
}

function changedMeanwhile(): Failure {
  return new Failure('conflict', 'Cannot change the address: the account was changed just now');
}
