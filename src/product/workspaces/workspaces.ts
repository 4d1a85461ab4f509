/**
 * Workspaces: each has its own codes, keys, quota and plan. The first start makes one, with its owner and
 * an API key; secrets are handed to the caller once and not kept.
 */
import type { Clock } from '../../model/clock.ts';
import { dayOf } from '../../model/day.ts';
import { Failure, notFound } from '../../model/failure.ts';
import type { IdSource, RandomBytes } from '../../model/ids.ts';
import type { Plan, PlanLimits, Role, UserRecord, WorkspaceRecord } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { putPages } from '../../store/management/pages.ts';
import { raiseAccessVersion } from './access.ts';
import type { ApiKeys } from './api-keys.ts';
import { generatePassword } from './passwords.ts';
import type { Users } from './users.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import { utcCalendar, type WeekStart } from '../../model/zones/calendar.ts';
import { noPages, type WorkspacePages } from '../../model/routing/pages.ts';

/** A workspace is small, but costs some memory. */
const workspacesPerUserMax = 50;

/** Numbers are given out once, and no workspace is deleted. */
const firstWorkspaceNo = 1;

/** Settings of the first start: `bootstrap` of the configuration. */
export interface FirstWorkspace {
  readonly email: string;
  /** Empty = one is generated. */
  readonly password: string;
  readonly plan: Plan;
}

export interface Bootstrapped {
  readonly workspace: WorkspaceRecord;
  readonly user: UserRecord;
  /** As given, or the generated one. */
  readonly password: string;
  /** The token, shown once. */
  readonly apiKey: string;
}

/** What is absent stays. */
export interface WorkspaceChange {
  readonly name?: string | undefined;
  /** A known IANA name. */
  readonly timezone?: string | undefined;
  readonly weekStart?: WeekStart | undefined;
}

export interface WorkspacesOptions {
  readonly store: Management;
  readonly users: Users;
  readonly keys: ApiKeys;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

export class Workspaces {
  readonly #options: WorkspacesOptions;

  constructor(options: WorkspacesOptions) {
    this.#options = options;
  }

  /**
   * Makes the first workspace, its owner and one key, in one transaction.
   * @param keep gets the secrets before anything is stored
   * @returns undefined when a workspace exists already
   */
  async bootstrap(
    first: FirstWorkspace,
    keep?: (made: Bootstrapped) => void,
  ): Promise<Bootstrapped | undefined> {
    const { store, users, keys, randomBytes } = this.#options;
    if (store.last('workspace') > 0) return undefined;
    const password = first.password === '' ? generatePassword(randomBytes) : first.password;
    const user = await users.prepare({ email: first.email, name: 'Owner', password });
    const workspace = this.#prepare(firstWorkspaceNo, 'My workspace', first.plan);
    const key = await keys.prepareFirst(workspace, user.id);
    const made = { workspace, user, password, apiKey: key.token };
    keep?.(made);
    return await store.environment.transaction(() => {
      // Another core may have been first.
      if (store.last('workspace') > 0) return undefined;
      this.#write({ ...workspace, no: store.next('workspace') });
      users.write(user, workspace.no, 'owner');
      keys.writeFirst(key);
      return made;
    });
  }

  #prepare(no: WorkspaceNo, name: string, plan: Plan): WorkspaceRecord {
    const { ids, clock } = this.#options;
    return { no, id: ids.newId('ws'), name, plan, createdAtMs: clock.now() };
  }

  /** Inside a transaction. */
  #write(workspace: WorkspaceRecord): WorkspaceRecord {
    const { store } = this.#options;
    store.workspaces.put(workspace.no, workspace);
    store.workspaceIds.put(workspace.id, workspace.no);
    return workspace;
  }

  find(workspaceNo: WorkspaceNo): WorkspaceRecord | undefined {
    return this.#options.store.workspaces.get(workspaceNo);
  }

  /** @throws Failure not_found */
  get(workspaceNo: WorkspaceNo): WorkspaceRecord {
    const found = this.find(workspaceNo);
    if (found === undefined) throw notFound('workspace');
    return found;
  }

  findById(id: string): WorkspaceRecord | undefined {
    const no = this.#options.store.workspaceIds.get(id);
    return no === undefined ? undefined : this.find(no);
  }

  /** The one that the first start made, with the operator as its owner. */
  isFirst(workspaceNo: WorkspaceNo): boolean {
    return workspaceNo === firstWorkspaceNo;
  }

  /** By number: oldest first. */
  *all(): Generator<WorkspaceRecord> {
    for (const { value } of this.#options.store.workspaces.range({})) yield value;
  }

  /**
   * Makes a Free workspace whose owner the user is.
   * @param inTransaction runs in the same transaction @throws Failure conflict when the user has too many
   */
  async create(
    userId: string,
    name: string,
    inTransaction?: (made: WorkspaceRecord) => void,
  ): Promise<WorkspaceRecord> {
    const { store, users } = this.#options;
    return await store.environment.transaction(() => {
      if (this.of(userId).length >= workspacesPerUserMax) {
        throw new Failure(
          'conflict',
          `Cannot create a workspace: you are in ${workspacesPerUserMax}, expected fewer`,
        );
      }
      const workspace = this.#write(this.#prepare(store.next('workspace'), name, 'free'));
      users.addMember(workspace.no, userId, 'owner');
      inTransaction?.(workspace);
      return workspace;
    });
  }

  /** The brand and texts on the pages of its codes. @throws Failure data_damaged */
  pagesOf(workspaceNo: WorkspaceNo): WorkspacePages {
    const stored = this.#options.store.pages.workspaces.get(workspaceNo);
    return stored === undefined ? noPages : { brand: stored.brand, texts: stored.texts };
  }

  /**
   * Changes its name, its time zone, its pages. A zone is counted in from the next UTC day on.
   * @param changedPages gets the present pages; if it throws, no change is made
   * @throws Failure not_found
   */
  async change(
    workspaceNo: WorkspaceNo,
    change: WorkspaceChange,
    changedPages?: (now: WorkspacePages) => WorkspacePages,
  ): Promise<WorkspaceRecord> {
    const { store, clock } = this.#options;
    return await store.environment.transaction(() => {
      const now = this.get(workspaceNo);
      const pages = changedPages?.(this.pagesOf(workspaceNo));
      if (pages !== undefined) putPages(store, workspaceNo, pages);
      const { name = now.name, timezone, weekStart = now.weekStart } = change;
      const zoned = changedZone(now, timezone, dayOf(clock.now()));
      if (zoned !== now) store.next('zones');
      const changed = { ...zoned, name, ...(weekStart === undefined ? {} : { weekStart }) };
      store.workspaces.put(workspaceNo, changed);
      return changed;
    });
  }

  /** Where the user is a member, newest first. */
  of(userId: string): Array<{ readonly workspace: WorkspaceRecord; readonly role: Role }> {
    const { store } = this.#options;
    const keys = store.userWorkspaces.keys({ start: [userId, 0], end: [userId, 2 ** 32] });
    const found = [...keys].flatMap(([, no]) => {
      const workspace = this.find(no);
      const role = store.memberships.get([no, userId])?.role;
      return workspace === undefined || role === undefined ? [] : [{ workspace, role }];
    });
    return found.toReversed();
  }

  /** Changes plan and limits; they hold from the next request. @throws Failure not_found */
  async setPlan(
    workspaceNo: WorkspaceNo,
    plan: Plan,
    limits?: PlanLimits,
  ): Promise<WorkspaceRecord> {
    const { environment } = this.#options.store;
    return await environment.transaction(() => this.writePlan(workspaceNo, plan, limits));
  }

  /** The same inside a transaction that has more to write. @throws Failure not_found, before any write */
  writePlan(workspaceNo: WorkspaceNo, plan: Plan, limits?: PlanLimits): WorkspaceRecord {
    const { store } = this.#options;
    const { limits: _replaced, ...kept } = this.get(workspaceNo);
    const changed = { ...kept, plan, ...(limits === undefined ? {} : { limits }) };
    store.workspaces.put(workspaceNo, changed);
    raiseAccessVersion(store);
    return changed;
  }
}

/** Today is counted in the zone that it began with: of several changes on one day the last one holds. */
function changedZone(
  now: WorkspaceRecord,
  timezone: string | undefined,
  today: number,
): WorkspaceRecord {
  const zone = now.timezone ?? utcCalendar.zone;
  if (timezone === undefined || timezone === zone) return now;
  const { zoneSinceDay: sinceDay, zoneBefore: before = utcCalendar.zone } = now;
  const isPending = sinceDay !== undefined && sinceDay > today;
  return {
    ...now,
    timezone,
    zoneSinceDay: today + 1,
    zoneBefore: isPending ? before : zone,
  };
}
