/**
 * Commands about people, keys and workspaces, beside a running service or without one: they write what
 * the service reads, and it sees that with its next request. Each answers the text to print.
 */
import { randomFillSync } from 'node:crypto';
import type { Administration } from '../app.ts';
import { isoTime } from '../model/day.ts';
import { Failure } from '../model/failure.ts';
import {
  limitsOf,
  type Plan,
  type PlanLimits,
  type Role,
  type WorkspaceRecord,
} from '../model/workspace.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import { generatePassword } from '../workspaces/passwords.ts';

type Services = Administration['services'];

/** The named workspace, or the first. @throws Failure not_found */
export function workspaceOf(services: Services, id: string | undefined): WorkspaceRecord {
  const [first] = services.workspaces.all();
  const found = id === undefined ? first : services.workspaces.findById(id);
  if (found !== undefined) return found;
  throw new Failure('not_found', `There is no workspace ${id ?? 'yet: start the service first'}`);
}

export async function createUser(
  services: Services,
  options: {
    readonly email: string;
    readonly name: string;
    readonly role: Role;
    readonly password?: string;
    readonly workspace?: string;
  },
): Promise<string> {
  const { email, name, role } = options;
  const workspace = workspaceOf(services, options.workspace);
  const password = options.password ?? newPassword();
  const user = await services.users.create(workspace.no, role, { email, name, password });
  return `User ${user.id} (${role} of ${workspace.name})${shown(options.password, password)}`;
}

export async function resetPassword(
  services: Services,
  options: { readonly email: string; readonly password?: string },
): Promise<string> {
  const password = options.password ?? newPassword();
  const user = await services.accounts.resetPassword(options.email, password);
  return `User ${user.id} has a new password, all sessions ended${shown(options.password, password)}`;
}

export function listKeys(
  { keys, workspaces }: WorkspaceServices,
  workspace: WorkspaceRecord | undefined,
): object[] {
  const all = workspace === undefined ? [...workspaces.all()] : [workspace];
  return all.flatMap(({ id: workspaceId, no }) =>
    keys.list(no).map(({ id, name, role, createdAtMs, expiresAtMs, revokedAtMs }) => ({
      id,
      workspaceId,
      name,
      role,
      createdAt: isoTime(createdAtMs),
      lastUsedAt: timeOrNull(keys.lastUsedAtMs(id)),
      expiresAt: timeOrNull(expiresAtMs),
      revokedAt: timeOrNull(revokedAtMs),
    })),
  );
}

export async function revokeKey({ keys }: Services, id: string): Promise<string> {
  const record = keys.find(id);
  if (record === undefined) throw new Failure('not_found', `There is no API key ${id}`);
  await keys.revoke(record.workspaceNo, id);
  return `API key ${id} is revoked: its next request is refused`;
}

export function rotateSigning(services: Services): string {
  const kid = services.rotateSigningKeys();
  return `New API keys are signed with ${kid} from now on; those that exist stay valid`;
}

export function listWorkspaces({ workspaces, users }: Services): object[] {
  return [...workspaces.all()].map((workspace) => {
    const { perMinute, perDay } = limitsOf(workspace);
    return {
      id: workspace.id,
      name: workspace.name,
      plan: workspace.plan,
      perMinute,
      perDay: perDay ?? null,
      owner: users.firstOwner(workspace.no)?.email ?? null,
      createdAt: isoTime(workspace.createdAtMs),
    };
  });
}

/** Limits of its own are for Enterprise alone. @throws Failure validation_failed, not_found */
export async function setPlan(
  services: Services,
  id: string,
  plan: Plan,
  limits: { readonly perMinute?: number; readonly perDay?: number },
): Promise<string> {
  const own = limits.perMinute !== undefined || limits.perDay !== undefined;
  if (own && plan !== 'enterprise') {
    throw new Failure('validation_failed', `Cannot set limits of ${plan}: expected enterprise`);
  }
  const workspace = workspaceOf(services, id);
  const { perMinute = limitsOf({ ...workspace, plan }).perMinute, perDay } = limits;
  const override: PlanLimits | undefined = own ? { perMinute, perDay } : undefined;
  const changed = await services.workspaces.setPlan(workspace.no, plan, override);
  const now = limitsOf(changed);
  const day = now.perDay === undefined ? 'no daily cap' : `${now.perDay} a day`;
  return `${changed.name} is ${plan}: ${now.perMinute} requests a minute, ${day}`;
}

/** Objects as aligned columns, or as JSON for scripts. */
export function tableText(rows: readonly object[], form: 'json' | 'text'): string {
  if (form === 'json') return JSON.stringify(rows);
  const [first] = rows;
  if (first === undefined) return 'none';
  const names = Object.keys(first);
  const cells = [
    names,
    ...rows.map((row) => Object.values(row).map((cell) => (cell === null ? '-' : String(cell)))),
  ];
  const widths = names.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  return cells
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}

const newPassword = (): string => generatePassword((bytes) => randomFillSync(bytes));

const shown = (given: string | undefined, password: string): string =>
  given === undefined ? `, password shown once:\n${password}` : '';

const timeOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : isoTime(timeMs);
