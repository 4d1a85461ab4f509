/**
 * /team/invites: invite, list, withdraw, preview, accept. After the commit, the link goes out by mail; without a mail
 * server it is in the answer, once.
 */
import { z } from 'zod';
import type { InviteRecord } from '../../model/workspace.ts';
import { inviteStates, type MadeInvite } from '../../product/workspaces/invites.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { createdAt, idField, time } from '../kernel/fields.ts';
import { created, deleteRoute, listRoute, pageSchema, postRoute } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import type { ApiServices } from '../services.ts';
import { view } from '../kernel/view.ts';
import {
  email,
  givenPassword,
  name,
  role,
  shownEmail,
  shownName,
  userId,
  workspace,
} from './people.ts';

/** The dashboard's page that an invite's link opens. */
const invitePath = '/accept-invite';
const inviteFields = {
  id: idField('inv', 'Id of the invite'),
  email: shownEmail,
  role: role.meta({ description: 'The role they will have' }),
  status: z.enum(inviteStates).meta({ description: 'Its state', example: 'pending' }),
  invitedBy: userId.meta({ description: 'User who invited them' }),
  createdAt,
  expiresAt: time.meta({ description: 'Its link works until then' }),
};
const invite = z.object(inviteFields).meta({ id: 'Invite' });
const madeInvite = z
  .object({
    ...inviteFields,
    acceptUrl: z
      .string()
      .optional()
      .meta({
        override: { format: 'uri' },
        description: 'Only where no mail is sent: the link to hand over, shown this once',
        example: 'http://localhost:8080/accept-invite?token=k5q3w9',
      }),
    token: z.string().optional().meta({ description: 'The token in that link', example: 'k5q3w9' }),
  })
  .meta({ id: 'MadeInvite' });
const inviteBody = z
  .strictObject({ email: email.meta({ description: 'Where the invite goes' }), role })
  .meta({ id: 'InviteCreate' });
const token = z
  .string()
  .min(1)
  .max(256)
  .meta({ description: 'The token of the link', example: 'k5q3w9' });
const previewBody = z.strictObject({ token }).meta({ id: 'InviteToken' });
const preview = z
  .object({
    workspaceName: workspace.shape.name,
    inviterName: shownName,
    email: inviteFields.email,
    role: inviteFields.role,
  })
  .meta({ id: 'InvitePreview' });
const acceptBody = z
  .strictObject({
    token,
    name: name.optional().meta({ description: 'Of a new user: how others see them' }),
    password: givenPassword.optional().meta({
      description:
        'A new user chooses one of 8 characters or more that is not common; a known user gives theirs',
    }),
  })
  .meta({
    id: 'InviteAccept',
    example: { token: 'k5q3w9', name: 'Jane Doe', password: 'correct horse battery staple' },
  });
const joined = z.object({ workspaceId: workspace.shape.id, userId, role }).meta({ id: 'Joined' });

const tag = 'Team';

export interface InvitesOptions {
  readonly workspaces: WorkspaceServices;
  readonly mail: ApiServices['mail'];
  /** The dashboard's address. */
  readonly publicUrl: string;
}

export function inviteRoutes(options: InvitesOptions): Route[] {
  const { invites } = options.workspaces;
  const listInvites = listRoute({
    path: '/team/invites',
    operationId: 'listInvites',
    access: 'admin',
    tag,
    summary: 'List invites',
    description: 'Newest first. Invites that are over stay for a month.',
    schema: pageSchema('InvitePage', invite),
    items: ({ actor }) => invites.list(actor.workspaceNo),
    idOf: ({ id }) => id,
    view: (record) => view(invite, { ...record, status: invites.stateOf(record) }),
  });
  const deleteInvite = deleteRoute({
    path: '/team/invites/:id',
    operationId: 'deleteInvite',
    access: 'admin',
    tag,
    summary: 'Withdraw an invite',
    description: 'Its link ends at once.',
    failures: ['not_found', 'conflict', 'storage_full'],
    remove: async ({ workspaceNo }, id) => await invites.remove(workspaceNo, id),
  });
  const { workspaces } = options;
  const byToken = [previewInvite(workspaces), acceptInvite(workspaces)];
  return [createInvite(options), listInvites, deleteInvite, ...byToken];
}

function createInvite({ workspaces, mail, publicUrl }: InvitesOptions): Route {
  const urlOf = ({ token }: MadeInvite): string => `${publicUrl}${invitePath}?token=${token}`;
  return postRoute({
    path: '/team/invites',
    operationId: 'createInvite',
    access: 'admin',
    tag,
    summary: 'Invite a person',
    description:
      'With a role up to yours, for 7 days, 200 a workspace and day. Where mail is sent the link goes to the address, else the ' +
      'answer has it. When the mail could not be sent, invite again: then the answer has the link. ' +
      'Emits `member.invited`.',
    body: inviteBody,
    answer: { status: 201, schema: madeInvite, what: 'The invite' },
    make: async ({ actor, body }, kept) => {
      const delivery = mail === undefined ? 'shown' : 'mailed';
      const made = await workspaces.invites.create(actor, { ...body, delivery }, kept);
      if (mail !== undefined && made.invite.isMailed === true) {
        await sendMail(workspaces, mail, made.invite, urlOf(made));
      }
      return made;
    },
    result: (made: MadeInvite) => {
      const secret =
        made.invite.isMailed !== true ? { acceptUrl: urlOf(made), token: made.token } : {};
      const shown = { ...made.invite, status: 'pending', ...secret } as const;
      return created('/team/invites', view(madeInvite, shown));
    },
  });
}

/** Who invites, and to which workspace. */
function namesOf({ users, workspaces }: WorkspaceServices, invite: InviteRecord) {
  return {
    workspaceName: workspaces.find(invite.workspaceNo)?.name ?? '',
    inviterName: users.find(invite.invitedBy)?.name ?? '',
  };
}

async function sendMail(
  services: WorkspaceServices,
  mail: NonNullable<ApiServices['mail']>,
  invite: InviteRecord,
  acceptUrl: string,
): Promise<void> {
  const { id, email: to, role: granted, expiresAtMs } = invite;
  const onFailed = async (): Promise<void> => await services.invites.noteMailFailed(id);
  const isTaken = mail.invite({
    to,
    ...namesOf(services, invite),
    role: granted,
    acceptUrl,
    expiresAtMs,
    onFailed,
  });
  if (!isTaken) await onFailed();
}

function previewInvite(services: WorkspaceServices): Route {
  return createRoute({
    method: 'POST',
    path: '/team/invites/preview',
    operationId: 'previewInvite',
    access: 'public',
    tag,
    summary: 'Look at an invite',
    description: 'By the token of the link, as often as you like before it is accepted.',
    body: previewBody,
    isRepeatable: true,
    answer: { status: 200, schema: preview, what: 'Who invites whom, and where' },
    failures: ['not_found', 'conflict', 'gone'],
    handle: ({ body }) => {
      const found = services.invites.find(body.token);
      const answer = { ...namesOf(services, found), email: found.email, role: found.role };
      return jsonResult(200, answer);
    },
  });
}

function acceptInvite({ accounts, invites }: WorkspaceServices): Route {
  return createRoute({
    method: 'POST',
    path: '/team/invites/accept',
    operationId: 'acceptInvite',
    access: 'public',
    tag,
    summary: 'Accept an invite',
    description:
      'By the token of the link, once. Give a name and a password: the account of the address that has this ' +
      'password joins, else a new one does. A person who is signed in with the address gives nothing else. ' +
      'An account made by a link that the inviter was shown belongs to this workspace and does not block others from ' +
      'using the address elsewhere. Emits `member.joined`.',
    body: acceptBody,
    answer: { status: 200, schema: joined, what: 'Where you are a member now' },
    failures: ['not_found', 'conflict', 'gone', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, session, body: { token: secret, ...given }, keep }) => {
      const found = invites.find(secret);
      const userId = session === undefined ? undefined : actor?.userId;
      const user = await accounts.invitee(found, given, userId);
      return await invites.accept(secret, user, (membership) => {
        const result = jsonResult(200, membership);
        keep?.(result);
        return result;
      });
    },
  });
}
