/**
 * Members of a workspace and their roles. Every rule is checked inside the transaction that writes, so it
 * holds however many requests race: no one changes or grants a role above their own, and the last owner
 * stays. The invites that a member could not send any more end with the change.
 */
import { Failure, notFound } from '../../model/failure.ts';
import {
  lesserRole,
  roleAtLeast,
  type Actor,
  type MembershipRecord,
  type Role,
  type UserRecord,
} from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { raiseAccessVersion } from './access.ts';
import type { Invites } from './invites.ts';
import type { Users } from './users.ts';
import { type WorkspaceNo, workspaceRange } from '../../model/numbers.ts';

export interface Member {
  readonly user: UserRecord;
  readonly role: Role;
  readonly joinedAtMs: number;
}

type Acting = Pick<Actor, 'workspaceNo' | 'userId' | 'role'>;

export class Members {
  readonly #store: Management;
  readonly #users: Users;
  readonly #invites: Invites;

  constructor(store: Management, users: Users, invites: Invites) {
    this.#store = store;
    this.#users = users;
    this.#invites = invites;
  }

  /** By id, newest user first. */
  list(workspaceNo: WorkspaceNo): Member[] {
    const found: Member[] = [];
    for (const { key, value } of this.#store.memberships.range(workspaceRange(workspaceNo))) {
      const user = this.#store.users.get(key[1]);
      if (user !== undefined) found.push({ user, ...value });
    }
    return found.toReversed();
  }

  /** @throws Failure not_found, forbidden, conflict for the last owner */
  async changeRole(actor: Acting, userId: string, role: Role): Promise<Member> {
    return await this.#store.environment.transaction(() => {
      const { user, membership } = this.#target(actor, userId);
      if (!roleAtLeast(this.#roleOf(actor), role)) {
        throw new Failure('forbidden', `Cannot grant ${role}: expected a role up to your own`);
      }
      if (role !== 'owner') this.#assertNotLastOwner(actor.workspaceNo, membership);
      const changed = { ...membership, role };
      this.#store.memberships.put([actor.workspaceNo, userId], changed);
      this.#invites.withdrawOf(actor.workspaceNo, userId, role);
      raiseAccessVersion(this.#store);
      return { user, ...changed };
    });
  }

  /** Their keys and sessions end here with the next request. @throws Failure as above */
  async remove(actor: Acting, userId: string): Promise<void> {
    await this.#store.environment.transaction(() => {
      const { membership } = this.#target(actor, userId);
      this.#assertNotLastOwner(actor.workspaceNo, membership);
      this.#users.removeMember(actor.workspaceNo, userId);
      this.#invites.withdrawOf(actor.workspaceNo, userId, undefined);
    });
  }

  /** The actor's role now: the request's, or less when it was lowered since. */
  #roleOf(actor: Acting): Role {
    const membership = this.#store.memberships.get([actor.workspaceNo, actor.userId]);
    if (membership === undefined) {
      throw new Failure('forbidden', 'You are not a member of the workspace any more');
    }
    return lesserRole(actor.role, membership.role);
  }

  #target(actor: Acting, userId: string): { user: UserRecord; membership: MembershipRecord } {
    const user = this.#store.users.get(userId);
    const membership = this.#store.memberships.get([actor.workspaceNo, userId]);
    if (user === undefined || membership === undefined) throw notFound('member');
    const role = this.#roleOf(actor);
    if (!roleAtLeast(role, 'admin') || !roleAtLeast(role, membership.role)) {
      const text = `Cannot change a member who is ${membership.role}: expected a role up to your own`;
      throw new Failure('forbidden', text);
    }
    return { user, membership };
  }

  #assertNotLastOwner(workspaceNo: WorkspaceNo, membership: MembershipRecord): void {
    if (membership.role !== 'owner') return;
    const owners = this.list(workspaceNo).filter(({ role }) => role === 'owner');
    if (owners.length > 1) return;
    throw new Failure(
      'conflict',
      'Cannot take the last owner: the workspace has one owner, expected another first',
    );
  }
}
