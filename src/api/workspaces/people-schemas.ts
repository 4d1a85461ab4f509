/**
 * Shapes of people: users, sessions, workspaces, members, invites and API keys, as the wire has them.
 * Secrets stand in the answers that make them and nowhere else.
 */
import { z } from 'zod';
import { isoTime } from '../../model/day.ts';
import { plans, roles, type ApiKeyRecord, type InviteRecord } from '../../model/workspace.ts';
import type { Role, WorkspaceRecord } from '../../model/workspace.ts';
import type { InviteState } from '../../workspaces/invites.ts';
import type { Member } from '../../workspaces/members.ts';
import { passwordLengthMin } from '../../workspaces/accounts.ts';
import { moment, plainText, time } from '../fields.ts';

const nameLengthMax = 120;
const passwordLengthMax = 256;
const emailLengthMax = 254;
const overlapSecondsStandard = 86_400;
const overlapSecondsMax = 30 * 86_400;

/**
 * RFC 6531: letters of any alphabet on both sides of one `@`. What would mean more than one address in a
 * mail header, quotes, commas and brackets, is left out.
 */
const emailPattern =
  /^[^\s\p{C}@"(),:;<>[\\\]]{1,64}@[^\s\p{C}@"(),:;<>[\\\]]+\.[^\s\p{C}@"(),:;<>[\\\].]+$/u;

const role = z.enum(roles).meta({ example: 'editor' });
const name = plainText(nameLengthMax);
const email = z
  .string()
  .max(emailLengthMax)
  .regex(emailPattern, 'Expected an e-mail address')
  .meta({ example: 'jane@example.com' });
/** A password that is given, right or wrong. */
const givenPassword = z.string().min(1).max(passwordLengthMax);
const newPassword = z
  .string()
  .min(passwordLengthMin)
  .max(passwordLengthMax)
  .meta({ description: 'Whatever you can remember; kept as a scrypt hash' });

const userId = z.string().meta({ example: 'usr_01k3zq8m4hd2v7c5x9ab' });
const workspaceId = z.string().meta({ example: 'ws_01k3zq8m4hd2v7c5x9ab' });

/** A body that may be left out or be `{}`. */
export const nothing = z.strictObject({}).optional();

export const signInBody = z
  .strictObject({ email: z.string().min(1).max(emailLengthMax), password: givenPassword })
  .meta({ id: 'SignIn' });
export const passwordBody = z
  .strictObject({ oldPassword: givenPassword, newPassword })
  .meta({ id: 'PasswordChange' });

const user = z.object({ id: userId, email: z.string(), name: z.string() }).meta({ id: 'User' });

export const workspace = z
  .object({
    id: workspaceId,
    name: z.string().meta({ example: 'My workspace' }),
    plan: z.enum(plans),
    role,
    createdAt: time,
  })
  .meta({ id: 'Workspace' });
export const workspaceBody = z.strictObject({ name }).meta({ id: 'WorkspaceName' });

export const session = z
  .object({
    user,
    workspace,
    csrfToken: z.string().optional().meta({
      description: 'Of a signed-in person: sent as X-CSRF-Token with what changes something',
    }),
  })
  .meta({ id: 'Session' });
export const done = z.object({ done: z.literal(true) }).meta({ id: 'Done' });
export const deleted = z
  .object({ deleted: z.literal(true), id: z.string() })
  .meta({ id: 'DeletedOne' });

const keyFields = {
  id: z.string().meta({ example: 'key_01k3zq8m4hd2v7c5x9ab' }),
  name: z.string().meta({ example: 'Till' }),
  role,
  userId: userId.meta({ description: 'Whom it speaks for' }),
  createdAt: time,
  lastUsedAt: time.nullable(),
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
};
export const apiKey = z.object(keyFields).meta({ id: 'ApiKey' });
export const madeApiKey = z
  .object({
    ...keyFields,
    key: z.string().meta({ description: 'The secret, shown this once', example: 'eyJhbGciOi…' }),
  })
  .meta({ id: 'MadeApiKey' });
export const apiKeyBody = z
  .strictObject({
    name,
    role: role.default('editor'),
    expiresAt: moment.nullable().default(null).meta({ description: 'Absent: it does not expire' }),
  })
  .meta({ id: 'ApiKeyCreate' });
export const rotateBody = z
  .strictObject({
    overlapSeconds: z.int().min(0).max(overlapSecondsMax).default(overlapSecondsStandard),
  })
  .default({ overlapSeconds: overlapSecondsStandard })
  .meta({ id: 'ApiKeyRotate' });

const inviteFields = {
  id: z.string().meta({ example: 'inv_01k3zq8m4hd2v7c5x9ab' }),
  email: z.string().meta({ example: 'jane@example.com' }),
  role,
  status: z.enum(['pending', 'accepted', 'expired']),
  invitedBy: userId,
  createdAt: time,
  expiresAt: time,
};
export const invite = z.object(inviteFields).meta({ id: 'Invite' });
export const madeInvite = z
  .object({
    ...inviteFields,
    acceptUrl: z.string().optional().meta({
      description: 'Only where no mail is sent: the link to hand over, shown this once',
    }),
    token: z.string().optional().meta({ description: 'The token in that link' }),
  })
  .meta({ id: 'MadeInvite' });
export const inviteBody = z.strictObject({ email, role }).meta({ id: 'InviteCreate' });
export const acceptBody = z
  .strictObject({
    token: z.string().min(1).max(256),
    name: name.optional(),
    password: givenPassword.optional(),
  })
  .meta({ id: 'InviteAccept' });
export const joined = z.object({ workspaceId, userId, role }).meta({ id: 'Joined' });

export const member = z
  .object({ userId, email: z.string(), name: z.string(), role, joinedAt: time })
  .meta({ id: 'Member' });
export const memberBody = z.strictObject({ role }).meta({ id: 'MemberChange' });

const timeOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : isoTime(timeMs);

export function viewWorkspace({ id, name, plan, createdAtMs }: WorkspaceRecord, own: Role) {
  return { id, name, plan, role: own, createdAt: isoTime(createdAtMs) };
}

export function viewApiKey(record: ApiKeyRecord, lastUsedAtMs: number | undefined) {
  return {
    id: record.id,
    name: record.name,
    role: record.role,
    userId: record.userId,
    createdAt: isoTime(record.createdAtMs),
    lastUsedAt: timeOrNull(lastUsedAtMs),
    expiresAt: timeOrNull(record.expiresAtMs),
    revokedAt: timeOrNull(record.revokedAtMs),
  };
}

export function viewInvite(record: InviteRecord, status: InviteState) {
  return {
    id: record.id,
    email: record.email,
    role: record.role,
    status,
    invitedBy: record.invitedBy,
    createdAt: isoTime(record.createdAtMs),
    expiresAt: isoTime(record.expiresAtMs),
  };
}

export function viewMember({ user: { id, email, name }, role: own, joinedAtMs }: Member) {
  return { userId: id, email, name, role: own, joinedAt: isoTime(joinedAtMs) };
}
