/**
 * Invites: an e-mail address, a role, and a token that makes its holder a member, once, within 7 days.
 * The store has the token's SHA-256: a lookup compares hashes, which an attacker cannot choose.
 *
 *   pending --accept--> accepted      pending --7 days--> expired      pending --delete--> nothing
 *
 * A pending invite is deleted in the transaction in which its inviter leaves, or gets a role that is too low to send it.
 * A token that was only mailed proves the mailbox of the account that accepts with it;
 * one that the inviter has seen proves nothing (users.ts).
 *
 * An address has at most one pending invite in a workspace; one that expired or whose mail could not be
 * sent is replaced by the next. Expired and accepted ones are removed 30 days after the token's end.
 */
import type { Clock } from '../../model/clock.ts';
import { dayMs } from '../../model/day.ts';
import { Failure, notFound } from '../../model/failure.ts';
import { foldEmail } from '../../model/fold.ts';
import type { IdSource, RandomBytes } from '../../model/ids.ts';
import { lesserRole, roleAtLeast, type Actor, type InviteRecord } from '../../model/workspace.ts';
import type { PlanLimits, Role, UserRecord } from '../../model/workspace.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { Management } from '../../store/management/management.ts';
import { MemoryQuota } from './memory-quota.ts';
import { hashOf, isSameText, randomText } from './secret-text.ts';
import { isProven, type Users } from './users.ts';
import { type WorkspaceNo, workspaceRange } from '../../model/numbers.ts';

const tokenBytes = 32;
const tokenLengthMax = 128;
const lifeMs = 7 * dayMs;
const retentionMs = 30 * dayMs;
/** Invites of a workspace, expired and accepted ones included. */
const invitesMax = 1_000;
/** New ones of a workspace a UTC day: their mails go to strangers. In memory, so a restart begins a day. */
const invitesPerDay: PlanLimits = { perMinute: 200, perDay: 200 };
/** Invites that one run of `expire` removes: a few ms of the writer's time. */
const expireBatchMax = 500;

export const inviteStates = ['pending', 'accepted', 'expired'] as const;
export type InviteState = (typeof inviteStates)[number];

export interface NewInvite {
  readonly email: string;
  readonly role: Role;
  /** How the link goes out; one that replaces an invite whose mail could not be sent is shown in any case. */
  readonly delivery: 'mailed' | 'shown';
}

export interface MadeInvite {
  readonly invite: InviteRecord;
  readonly token: string;
}

export interface InvitesOptions {
  readonly store: Management;
  readonly users: Users;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

export class Invites {
  readonly #options: InvitesOptions;
  readonly #quota: MemoryQuota;

  constructor(options: InvitesOptions) {
    this.#options = options;
    this.#quota = new MemoryQuota(options.clock, invitesPerDay);
  }

  /** @param inTransaction runs in the same transaction @throws Failure forbidden, conflict, daily_cap_reached */
  async create(
    actor: Actor,
    { email, role, delivery }: NewInvite,
    inTransaction?: (made: MadeInvite) => void,
  ): Promise<MadeInvite> {
    const { store, ids, clock, randomBytes } = this.#options;
    const token = randomText(tokenBytes, randomBytes);
    return await store.environment.transaction(() => {
      const replaced = this.#assertMayInvite(actor, email, role);
      const { allowed, limit, retryAfterSeconds = 1 } = this.#quota.take(actor.workspaceId);
      if (!allowed) {
        const text = `The workspace has sent the day’s ${limit} invites, the next is possible in ${retryAfterSeconds} s`;
        throw new Failure('daily_cap_reached', text, { retryAfterSeconds });
      }
      if (replaced !== undefined) this.#remove(replaced);
      const createdAtMs = clock.now();
      const isMailed = delivery === 'mailed' && replaced?.mailFailed !== true;
      const invite: InviteRecord = {
        id: ids.newId('inv'),
        workspaceNo: actor.workspaceNo,
        email: email.normalize('NFC'),
        role,
        tokenHash: hashOf(token),
        invitedBy: actor.userId,
        createdAtMs,
        expiresAtMs: createdAtMs + lifeMs,
        ...(isMailed ? { isMailed } : {}),
      };
      this.#write(invite);
      const { workspaceId, workspaceNo, userId } = actor;
      const data = { workspaceId, email: invite.email, role, invitedBy: userId };
      this.#options.outbox.append('member.invited', workspaceNo, data);
      const made = { invite, token };
      inTransaction?.(made);
      return made;
    });
  }

  /** Newest first. */
  list(workspaceNo: WorkspaceNo): InviteRecord[] {
    const { people } = this.#options.store;
    const keys = [...people.workspaceInvites.keys(workspaceRange(workspaceNo))];
    const found = keys.flatMap(([, id]) => people.invites.get(id) ?? []);
    return found.toReversed();
  }

  stateOf({ acceptedAtMs, expiresAtMs }: InviteRecord): InviteState {
    if (acceptedAtMs !== undefined) return 'accepted';
    return this.#options.clock.now() < expiresAtMs ? 'pending' : 'expired';
  }

  /** The token ends with it. @throws Failure not_found, also the second time; conflict once accepted */
  async remove(workspaceNo: WorkspaceNo, id: string): Promise<void> {
    const { store } = this.#options;
    await store.environment.transaction(() => {
      const invite = store.people.invites.get(id);
      if (invite?.workspaceNo !== workspaceNo) throw notFound('invite');
      if (invite.acceptedAtMs !== undefined) {
        throw new Failure('conflict', 'Cannot delete the invite: it is accepted, expected pending');
      }
      this.#remove(invite);
    });
  }

  /**
   * Ends the pending invites that a member could not send any more. Inside the transaction of the change.
   * @param role from now on; undefined = no member any more
   */
  withdrawOf(workspaceNo: WorkspaceNo, userId: string, role: Role | undefined): void {
    for (const invite of this.list(workspaceNo)) {
      if (invite.invitedBy !== userId || this.stateOf(invite) !== 'pending') continue;
      if (role === undefined || !mayInvite(role, invite.role)) this.#remove(invite);
    }
  }

  /** The pending invite of a token. @throws Failure not_found, conflict once accepted, gone */
  find(token: string): InviteRecord {
    const { store } = this.#options;
    const unknown = new Failure('not_found', 'There is no invite with this token');
    if (token.length > tokenLengthMax) throw unknown;
    const tokenHash = hashOf(token);
    const id = store.people.inviteTokens.get(tokenHash);
    const invite = id === undefined ? undefined : store.people.invites.get(id);
    if (invite === undefined || !isSameText(invite.tokenHash, tokenHash)) throw unknown;
    const state = this.stateOf(invite);
    if (state === 'pending') return invite;
    if (state === 'expired') throw new Failure('gone', 'The invite has expired; ask for another');
    throw new Failure('conflict', 'Cannot accept the invite: it is accepted, expected pending');
  }

  /**
   * Makes the user a member.
   * @param user `known`, or `fresh` from `Users.prepare`
   * @param inTransaction runs in the same transaction
   * @throws Failure as `find`; conflict when the address has a member by now, or the account was changed
   */
  async accept<T>(
    token: string,
    user: { readonly known: UserRecord } | { readonly fresh: UserRecord },
    inTransaction: (joined: { workspaceId: string; userId: string; role: Role }) => T,
  ): Promise<T> {
    const { store, users, outbox, clock } = this.#options;
    return await store.environment.transaction(() => {
      const invite = this.find(token);
      const { workspaceNo, role } = invite;
      const workspace = store.workspaces.get(workspaceNo);
      if (workspace === undefined) throw notFound('workspace');
      if (users.memberWith(workspaceNo, invite.email) !== undefined) throw alreadyMember();
      const given = 'known' in user ? user.known : user.fresh;
      const known = 'known' in user ? user.known : users.twinOf(user.fresh);
      if (known !== undefined) this.#assertUnchanged(known, workspaceNo);
      const { id } = known ?? given;
      if (known !== undefined) users.addMember(workspaceNo, id, role);
      else users.write({ ...given, mailboxProven: false }, workspaceNo, role);
      const record = users.find(id);
      if (invite.isMailed === true && record !== undefined && !isProven(record)) {
        users.prove(record);
      }
      store.people.invites.put(invite.id, { ...invite, acceptedAtMs: clock.now() });
      store.people.pendingInvites.remove([workspaceNo, foldEmail(invite.email)]);
      const joined = { workspaceId: workspace.id, userId: id, role };
      outbox.append('member.joined', workspaceNo, joined);
      return inTransaction(joined);
    });
  }

  /** The account still has the password and address that selected it. @throws Failure conflict */
  #assertUnchanged(known: UserRecord, workspaceNo: WorkspaceNo): void {
    const { users } = this.#options;
    const now = users.find(known.id);
    if (now?.passwordHash !== known.passwordHash || now?.email !== known.email) {
      throw new Failure('conflict', 'Cannot accept: the account was changed just now');
    }
    if (users.roleIn(workspaceNo, known.id) !== undefined) throw alreadyMember();
  }

  /** The mail did not leave: the next invite to the address replaces this one and shows its link. */
  async noteMailFailed(id: string): Promise<void> {
    const { environment, people } = this.#options.store;
    await environment.transaction(() => {
      const invite = people.invites.get(id);
      if (invite !== undefined) people.invites.put(id, { ...invite, mailFailed: true });
    });
  }

  /** Removes invites 30 days after their end, at most one batch. @returns how many */
  async expire(): Promise<number> {
    const { store, clock } = this.#options;
    const { inviteExpiry, invites } = store.people;
    return await inviteExpiry.expire(clock.now(), expireBatchMax, (id) => {
      const invite = invites.get(id);
      if (invite !== undefined) this.#remove(invite);
    });
  }

  /** @returns the invite that this one replaces @throws Failure forbidden, conflict */
  #assertMayInvite(actor: Actor, email: string, role: Role): InviteRecord | undefined {
    const { store, users } = this.#options;
    const { workspaceNo } = actor;
    const own = users.roleIn(workspaceNo, actor.userId);
    if (own === undefined || !mayInvite(lesserRole(actor.role, own), role)) {
      throw new Failure('forbidden', `Cannot invite as ${role}: expected a role up to your own`);
    }
    if (users.memberWith(workspaceNo, email) !== undefined) throw alreadyMember();
    const pendingId = store.people.pendingInvites.get([workspaceNo, foldEmail(email)]);
    const pending = pendingId === undefined ? undefined : store.people.invites.get(pendingId);
    if (pending !== undefined && this.stateOf(pending) === 'pending' && !pending.mailFailed) {
      throw new Failure('conflict', 'Cannot invite: this address has a pending invite');
    }
    const range = workspaceRange(workspaceNo);
    if (pending === undefined && store.people.workspaceInvites.count(range) >= invitesMax) {
      throw new Failure('conflict', `Cannot invite: there are ${invitesMax} invites, delete some`);
    }
    return pending;
  }

  #write(invite: InviteRecord): void {
    const { id, workspaceNo, email, tokenHash, expiresAtMs } = invite;
    const { people } = this.#options.store;
    people.invites.put(id, invite);
    people.workspaceInvites.put([workspaceNo, id], 1);
    people.inviteTokens.put(tokenHash, id);
    people.pendingInvites.put([workspaceNo, foldEmail(email)], id);
    people.inviteExpiry.set([id], expiresAtMs + retentionMs);
  }

  #remove({ id, workspaceNo, email, tokenHash }: InviteRecord): void {
    const { people } = this.#options.store;
    people.invites.remove(id);
    people.workspaceInvites.remove([workspaceNo, id]);
    people.inviteTokens.remove(tokenHash);
    const pending: [number, string] = [workspaceNo, foldEmail(email)];
    if (people.pendingInvites.get(pending) === id) people.pendingInvites.remove(pending);
    people.inviteExpiry.set([id], undefined);
  }
}

function mayInvite(own: Role, granted: Role): boolean {
  return roleAtLeast(own, 'admin') && roleAtLeast(own, granted);
}

function alreadyMember(): Failure {
  return new Failure('conflict', 'Cannot join: the user is a member of the workspace already');
}
