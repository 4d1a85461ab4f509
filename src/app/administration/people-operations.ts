/** API keys and users. */
import { z } from 'zod';
import { email, givenPassword, name, role, timeOrNull } from '../../api/workspaces/people.ts';
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { UserRecord, WorkspaceRecord } from '../../model/workspace.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { isProven } from '../../product/workspaces/users.ts';
import { operation } from './operation.ts';

export const workspaceId = z.string().optional();

/** Also the result on a cluster node (cluster/roles/signing-rotation.ts). */
export interface RotationResult {
  /** Id of the new signing key. */
  readonly kid: string;
  /** Disconnected cores; absent on one machine. */
  readonly away?: readonly string[];
}

/** Id, or the e-mail address of one account. */
const user = z.string();

const keyOperations = {
  'keys.create': operation(
    'changes',
    z.strictObject({ name, role, workspace: workspaceId }),
    async ({ services }, wish) => {
      const workspace = workspaceOf(services, wish.workspace);
      const { token, record } = await services.keys.create({
        workspaceNo: workspace.no,
        userId: ownerOf(services, workspace).id,
        name: wish.name,
        role: wish.role,
      });
      return {
        key: token,
        id: record.id,
        name: record.name,
        role: record.role,
        of: workspace.name,
      };
    },
  ),
  'keys.list': operation(
    'reads',
    z.strictObject({ workspace: workspaceId }),
    ({ services }, { workspace: id }) => {
      const { keys, workspaces } = services;
      const listed = id === undefined ? [...workspaces.all()] : [workspaceOf(services, id)];
      return listed.flatMap((workspace) =>
        keys.list(workspace.no).map((key) => ({
          id: key.id,
          workspaceId: workspace.id,
          name: key.name,
          role: key.role,
          createdAt: isoTime(key.createdAtMs),
          lastUsedAt: timeOrNull(keys.lastUsedAtMs(key.id)),
          expiresAt: timeOrNull(key.expiresAtMs),
          revokedAt: timeOrNull(key.revokedAtMs),
        })),
      );
    },
  ),
  'keys.revoke': operation(
    'changes',
    z.strictObject({ id: z.string() }),
    async ({ services: { keys } }, { id }) => {
      const record = keys.find(id);
      if (record === undefined) throw new Failure('not_found', `API key ${id} not found`);
      if (record.revokedAtMs !== undefined) {
        throw new Failure('not_found', `API key ${id} is already revoked`);
      }
      await keys.revoke(record.workspaceNo, id);
    },
  ),
  'keys.rotate-signing': operation(
    'changes',
    z.strictObject({}),
    ({ services }): RotationResult => ({ kid: services.rotateSigningKeys() }),
  ),
};

const userOperations = {
  'users.create': operation(
    'changes',
    z.strictObject({ email, name, role, password: givenPassword, workspace: workspaceId }),
    async ({ services }, { role: wanted, workspace: id, ...person }) => {
      const workspace = workspaceOf(services, id);
      const made = await services.users.create(workspace.no, wanted, person);
      return { id: made.id, of: workspace.name };
    },
  ),
  'users.reset-password': operation(
    'changes',
    z.strictObject({ user, password: givenPassword }),
    async ({ services }, { user: reference, password }) => {
      const { id } = await services.accounts.resetPassword(reference, password);
      return { id };
    },
  ),
  'users.change': operation(
    'changes',
    z.strictObject({ user, name: name.optional(), email: email.optional() }),
    async ({ services: { users, profiles } }, wish) => {
      if (wish.name === undefined && wish.email === undefined) {
        const expected = 'expected --name or --email';
        throw new Failure('validation_failed', `Cannot change the user: ${expected}`);
      }
      const found = users.get(wish.user);
      // First the address, which may be refused.
      const moved = wish.email === undefined ? found : await profiles.assign(found.id, wish.email);
      const changed = wish.name === undefined ? moved : await profiles.rename(found.id, wish.name);
      return { id: changed.id, name: changed.name, email: changed.email };
    },
  ),
  'users.list': operation(
    'reads',
    z.strictObject({ workspace: workspaceId }),
    ({ services }, { workspace: id }) => {
      const { users, workspaces } = services;
      const workspace = id === undefined ? undefined : workspaceOf(services, id);
      const isListed = (one: UserRecord): boolean =>
        workspace === undefined || users.roleIn(workspace.no, one.id) !== undefined;
      return [...users.all()].filter(isListed).map((one) => ({
        id: one.id,
        email: one.email,
        name: one.name,
        confirmed: isProven(one),
        workspaces: workspaces.of(one.id).map((of) => `${of.workspace.name} (${of.role})`),
        createdAt: isoTime(one.createdAtMs),
      }));
    },
  ),
  'users.confirm': operation(
    'changes',
    z.strictObject({ user }),
    async ({ services: { users } }, { user: reference }) => {
      const confirmed = await users.confirm(users.get(reference));
      return { id: confirmed.id, email: confirmed.email };
    },
  ),
};

export const peopleOperations = { ...keyOperations, ...userOperations };

/** The workspace with this id, or the first. @throws Failure not_found */
export function workspaceOf(
  { workspaces }: WorkspaceServices,
  id: string | undefined,
): WorkspaceRecord {
  const [first] = workspaces.all();
  const found = id === undefined ? first : workspaces.findById(id);
  if (found !== undefined) return found;
  throw new Failure(
    'not_found',
    id === undefined
      ? 'No workspace exists yet: start the service first'
      : `Workspace ${id} not found`,
  );
}

/** @throws Failure not_found */
export function ownerOf({ users }: WorkspaceServices, { no }: WorkspaceRecord): UserRecord {
  const owner = users.firstOwner(no);
  if (owner === undefined) throw new Failure('not_found', 'The workspace has no owner');
  return owner;
}
