/**
 * Sessions: signed-in users, each in one workspace. The secret is 32 random bytes that only the browser
 * has; stored is its SHA-256. A session ends 30 days after it began, after 7 days without a request,
 * on sign-out, and when its user's password changes elsewhere.
 *
 * The CSRF token is an HMAC under the session's secret: only a page of this origin can read it, and it
 * needs no storage. `lastSeen` is written a minute late at most.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '../../model/clock.ts';
import { dayMs } from '../../model/day.ts';
import { Failure, notFound } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import type { Actor, SessionRecord } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { LastUses } from './delayed-write.ts';
import { hashOf, isSameText, randomText } from './secret-text.ts';

const secretBytes = 32;
const secretShape = /^[A-Za-z0-9_-]{43}$/;
export const sessionMsMax = 30 * dayMs;
const idleMsMax = 7 * dayMs;
/** A session's last use is written when it is this much newer than the written one. */
const useStepMs = 60_000;
const sessionsPerUserMax = 100;
/** Sessions that one run of `expire` removes: a few ms of the writer's time. */
const expireBatchMax = 500;

/** A session that a request came with. */
export interface Session {
  /** Names it in the store. */
  readonly hash: string;
  readonly csrfToken: string;
}

export interface SignedIn {
  readonly actor: Actor;
  readonly session: Session;
}

export class Sessions {
  readonly #store: Management;
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  readonly #uses: LastUses;

  constructor(store: Management, clock: Clock, randomBytes: RandomBytes) {
    this.#store = store;
    this.#clock = clock;
    this.#randomBytes = randomBytes;
    const { sessions, sessionUses } = store.people;
    this.#uses = new LastUses(store, (digest, seenMs) => {
      if (sessions.has(digest)) sessionUses.put(digest, seenMs);
    });
  }

  /**
   * Begins a session in the user's first workspace; the oldest ends when there are too many.
   * @param passwordHash the hash that was verified: a password changed since then refuses
   * @throws Failure unauthorized, forbidden for a user without a workspace
   */
  async begin(
    userId: string,
    passwordHash: string | undefined,
  ): Promise<{ secret: string; csrfToken: string; actor: Actor }> {
    const { environment } = this.#store;
    const secret = randomText(secretBytes, this.#randomBytes);
    const digest = hashOf(secret);
    const actor = await environment.transaction(() => {
      if (this.#store.users.get(userId)?.passwordHash !== passwordHash) {
        throw new Failure('unauthorized', 'Cannot sign in: the password was changed just now');
      }
      const record = { userId, workspaceNo: 0, createdAtMs: this.#clock.now() };
      const found = this.#actorOf(record);
      if (found === undefined) {
        throw new Failure('forbidden', 'Cannot sign in: the user is a member of no workspace');
      }
      const own = this.#of(userId);
      const excess = own.length - sessionsPerUserMax + 1;
      if (excess > 0) for (const old of this.#oldest(own, excess)) this.#remove(old);
      const { workspaceNo } = found;
      this.#put(digest, { ...record, workspaceNo });
      this.#store.people.sessionExpiry.set([digest], record.createdAtMs + sessionMsMax);
      return found;
    });
    return { secret, csrfToken: csrfTokenOf(secret), actor };
  }

  /** The signed-in user of a session's secret; undefined when there is no such session. */
  find(secret: string): SignedIn | undefined {
    if (!secretShape.test(secret)) return undefined;
    const digest = hashOf(secret);
    this.#store.environment.refresh();
    const record = this.#store.people.sessions.get(digest);
    if (record === undefined) return undefined;
    const nowMs = this.#clock.now();
    const seenMs = this.#lastSeenMs(digest, record);
    if (nowMs >= record.createdAtMs + sessionMsMax || nowMs >= seenMs + idleMsMax) return undefined;
    const actor = this.#actorOf(record);
    if (actor === undefined) return undefined;
    if (nowMs >= seenMs + useStepMs) this.#uses.note(digest, nowMs);
    return { actor, session: { hash: digest, csrfToken: csrfTokenOf(secret) } };
  }

  /** Whether the session is still there. Its age is checked by `find`. */
  isOpen(digest: string): boolean {
    this.#store.environment.refresh();
    return this.#store.people.sessions.has(digest);
  }

  /** Ends one; a second time it does nothing. */
  async end(digest: string): Promise<void> {
    await this.#store.environment.transaction(() => this.#remove(digest));
  }

  /** Ends all of a user but one. Inside a transaction. */
  removeOthers(userId: string, kept: string | undefined): void {
    for (const digest of this.#of(userId)) if (digest !== kept) this.#remove(digest);
  }

  /** From the next request on the session works in another workspace. @throws Failure not_found */
  async switchTo(digest: string, workspaceId: string): Promise<Actor> {
    const { workspaceIds, environment, people } = this.#store;
    return await environment.transaction(() => {
      const record = people.sessions.get(digest);
      const workspaceNo = workspaceIds.get(workspaceId);
      const role =
        record === undefined || workspaceNo === undefined
          ? undefined
          : this.#store.memberships.get([workspaceNo, record.userId])?.role;
      if (record === undefined || workspaceNo === undefined || role === undefined) {
        throw notFound('workspace');
      }
      people.sessions.put(digest, { ...record, workspaceNo });
      return { userId: record.userId, workspaceId, workspaceNo, role };
    });
  }

  /** Removes sessions 30 days after they began, at most one batch. @returns how many */
  async expire(): Promise<number> {
    const { sessionExpiry } = this.#store.people;
    return await sessionExpiry.expire(this.#clock.now(), expireBatchMax, (digest) =>
      this.#remove(digest),
    );
  }

  async close(): Promise<void> {
    await this.#uses.close();
  }

  /** The current workspace, or the first one the user still belongs to. */
  #actorOf(record: SessionRecord): Actor | undefined {
    const { userId, workspaceNo } = record;
    const others = this.#store.userWorkspaces.keys({ start: [userId, 0], end: [userId, 2 ** 32] });
    const numbers = [workspaceNo, ...[...others].map(([, no]) => no)];
    for (const no of numbers) {
      const role = this.#store.memberships.get([no, userId])?.role;
      const workspace = role === undefined ? undefined : this.#store.workspaces.get(no);
      if (role === undefined || workspace === undefined) continue;
      return { userId, workspaceId: workspace.id, workspaceNo: no, role };
    }
    return undefined;
  }

  #of(userId: string): string[] {
    const { userSessions } = this.#store.people;
    const keys = userSessions.keys({ start: [userId, ''], end: [userId, '\uffff'] });
    return [...keys].map(([, digest]) => digest);
  }

  #oldest(digests: readonly string[], count: number): string[] {
    const age = (digest: string): number =>
      this.#store.people.sessions.get(digest)?.createdAtMs ?? 0;
    return digests.toSorted((one, other) => age(one) - age(other)).slice(0, count);
  }

  #put(digest: string, record: SessionRecord): void {
    this.#store.people.sessions.put(digest, record);
    this.#store.people.userSessions.put([record.userId, digest], 1);
  }

  #remove(digest: string): void {
    const { sessions, userSessions, sessionUses, sessionExpiry } = this.#store.people;
    const record = sessions.get(digest);
    if (record === undefined) return;
    sessions.remove(digest);
    userSessions.remove([record.userId, digest]);
    sessionUses.remove(digest);
    sessionExpiry.set([digest], undefined);
    this.#uses.delete(digest);
  }

  #lastSeenMs(digest: string, record: SessionRecord): number {
    const { sessionUses } = this.#store.people;
    return this.#uses.get(digest) ?? sessionUses.get(digest) ?? record.createdAtMs;
  }
}

/** In constant time. */
export function csrfMatches(session: Session, given: string): boolean {
  return isSameText(session.csrfToken, given);
}

function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('quietzone csrf').digest('base64url');
}
