/** Fields that sessions, workspaces, members, invites and API keys share, as the wire has them. */
import { z } from 'zod';
import { isoTime } from '../../model/day.ts';
import { plans, roles, type Role, type WorkspaceRecord } from '../../model/workspace.ts';
import { plainText, time } from '../fields.ts';

export const emailLengthMax = 254;
export const passwordLengthMax = 256;
const nameLengthMax = 120;

export const role = z.enum(roles).meta({ example: 'editor' });
export const name = plainText(nameLengthMax);
/** A password that is given, right or wrong. */
export const givenPassword = z.string().min(1).max(passwordLengthMax);
export const userId = z.string().meta({ example: 'usr_01k3zq8m4hd2v7c5x9ab' });
export const workspaceId = z.string().meta({ example: 'ws_01k3zq8m4hd2v7c5x9ab' });

export const workspace = z
  .object({
    id: workspaceId,
    name: z.string().meta({ example: 'My workspace' }),
    plan: z.enum(plans),
    role,
    createdAt: time,
  })
  .meta({ id: 'Workspace' });

export function viewWorkspace(record: WorkspaceRecord, own: Role) {
  const { id, plan, createdAtMs } = record;
  return { id, name: record.name, plan, role: own, createdAt: isoTime(createdAtMs) };
}

export const timeOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : isoTime(timeMs);
