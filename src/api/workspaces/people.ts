/** Fields that sessions, workspaces, members, invites and API keys share, as the wire has them. */
import { z } from 'zod';
import { isoTime } from '../../model/day.ts';
import { weekStarts } from '../../model/zones/calendar.ts';
import { plans, roles, type Role, type WorkspaceRecord } from '../../model/workspace.ts';
import { passwordLengthMax } from '../../product/workspaces/passwords.ts';
import { emailLengthMax, nameLengthMax } from '../../product/workspaces/users.ts';
import { createdAt, idField, plainText } from '../kernel/fields.ts';
import { view } from '../kernel/view.ts';

/**
 * RFC 6531: letters of any alphabet on both sides of one `@`. What would mean more than one address in a
 * mail header, quotes, commas and brackets, is left out.
 */
const emailPattern =
  /^[^\s\p{C}@"(),:;<>[\\\]]{1,64}@(?:[^\s\p{C}@"(),:;<>[\\\].]+\.)+[^\s\p{C}@"(),:;<>[\\\].]+$/u;

export const email = z
  .string()
  .max(emailLengthMax)
  .regex(emailPattern, 'Expected an e-mail address')
  .meta({
    override: { format: 'idn-email', pattern: emailPattern.source.replaceAll('\\p{C}', '') },
    description: 'An e-mail address',
    example: 'jane@example.com',
  });
export const role = z
  .enum(roles)
  .meta({ description: 'What they may do in the workspace', example: 'editor' });
export const name = plainText(nameLengthMax).meta({
  description: 'What people call it',
  example: 'Jane Doe',
});
/** A password that is given, right or wrong. */
export const givenPassword = z
  .string()
  .min(1)
  .max(passwordLengthMax)
  .meta({
    override: { format: 'password' },
    description: 'Their password',
    example: 'correct horse battery staple',
  });
export const userId = idField('usr', 'Id of the user');
const workspaceId = idField('ws', 'Id of the workspace');
export const shownEmail = z.string().meta({
  override: { format: 'idn-email' },
  description: 'Their e-mail address',
  example: 'jane@example.com',
});
export const shownName = z.string().meta({ description: 'Their name', example: 'Jane Doe' });

export const workspace = z
  .object({
    id: workspaceId,
    name: z.string().meta({ description: 'What people call it', example: 'My workspace' }),
    plan: z.enum(plans).meta({ description: 'Its plan now', example: 'pro' }),
    role: role.meta({ description: 'Your role in it' }),
    timezone: z.string().meta({ description: 'Time zone of its days', example: 'Europe/Berlin' }),
    weekStart: z.enum(weekStarts).meta({ description: 'First day of its weeks', example: 'mon' }),
    createdAt,
  })
  .meta({ id: 'Workspace' });

export function viewWorkspace(record: WorkspaceRecord, own: Role) {
  return view(workspace, { timezone: 'UTC', weekStart: 'mon', ...record, role: own });
}

export const timeOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : isoTime(timeMs);
