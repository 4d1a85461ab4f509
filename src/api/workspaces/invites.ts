/**
 * /team/invites: invite, list, withdraw, accept. The link goes out by mail where a mail server is
 * configured, after the commit; else it is in the answer, once.
 */
import type { WorkspaceServices } from '../../workspaces/services.ts';
import type { MadeInvite } from '../../workspaces/invites.ts';
import type { Actor } from '../../model/workspace.ts';
import { noBody, noQuery } from '../fields.ts';
import {
  acceptBody,
  deleted,
  invite,
  inviteBody,
  joined,
  madeInvite,
  viewInvite,
} from './people-schemas.ts';
import { createPublicRoute, createRoute, jsonResult, type Result, type Route } from '../route.ts';
import type { InviteMail } from '../services.ts';
import { pageResult, pageSchema, shortListQuery } from '../short-list.ts';

/** The dashboard's page that an invite's link opens. */
const invitePath = '/accept-invite';
const tag = 'Team';

export interface InvitesOptions {
  readonly workspaces: WorkspaceServices;
  readonly mail: InviteMail | undefined;
  /** The dashboard's address. */
  readonly publicUrl: string;
}

export function inviteRoutes(options: InvitesOptions): Route[] {
  const { workspaces } = options;
  return [createOne(options), listMany(workspaces), deleteOne(workspaces), accept(workspaces)];
}

function createOne({ workspaces, mail, publicUrl }: InvitesOptions): Route {
  const { invites } = workspaces;
  return createRoute({
    method: 'POST',
    path: '/team/invites',
    operationId: 'createInvite',
    tag,
    summary: 'Invite somebody',
    description:
      'With a role up to yours, for 7 days. Where mail is sent the link goes to the address, else the ' +
      'answer has it. When the mail could not be sent, invite again: then the answer has the link. ' +
      'Emits `member.invited`.',
    query: noQuery,
    body: inviteBody,
    answer: { status: 201, schema: madeInvite, what: 'The invite' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, body: { email, role }, keep }) => {
      const linkOf = ({ token }: MadeInvite): string => `${publicUrl}${invitePath}?token=${token}`;
      const answer = (made: MadeInvite): Result => {
        const isShown = mail === undefined || made.isAgain;
        const secret = isShown ? { acceptUrl: linkOf(made), token: made.token } : {};
        return jsonResult(
          201,
          { ...viewInvite(made.invite, 'pending'), ...secret },
          { Location: `/v1/team/invites/${made.invite.id}` },
        );
      };
      const made = await invites.create(actor, email, role, (record) => keep(answer(record)));
      if (mail !== undefined && !made.isAgain) {
        await sendMail({ workspaces, mail }, actor, made, linkOf(made));
      }
      return answer(made);
    },
  });
}

async function sendMail(
  { workspaces, mail }: { workspaces: WorkspaceServices; mail: InviteMail },
  actor: Actor,
  { invite: record }: MadeInvite,
  acceptUrl: string,
): Promise<void> {
  const onFailed = async (): Promise<void> => await workspaces.invites.noteMailFailed(record.id);
  const isTaken = mail.send({
    to: record.email,
    workspaceName: workspaces.workspaces.find(actor.workspaceNo)?.name ?? '',
    invitedBy: workspaces.users.find(actor.userId)?.name ?? '',
    role: record.role,
    acceptUrl,
    expiresAtMs: record.expiresAtMs,
    onFailed,
  });
  if (!isTaken) await onFailed();
}

function listMany({ invites }: WorkspaceServices): Route {
  return createRoute({
    method: 'GET',
    path: '/team/invites',
    operationId: 'listInvites',
    tag,
    summary: 'List invites',
    description: 'Newest first; those that are over stay for a month.',
    query: shortListQuery,
    body: noBody,
    answer: { status: 200, schema: pageSchema('InvitePage', invite), what: 'A page' },
    failures: [],
    handle: ({ actor, query }) =>
      pageResult(
        invites.list(actor.workspaceNo),
        query,
        ({ id }) => id,
        (record) => viewInvite(record, invites.stateOf(record)),
      ),
  });
}

function deleteOne({ invites }: WorkspaceServices): Route {
  return createRoute({
    method: 'DELETE',
    path: '/team/invites/:id',
    operationId: 'deleteInvite',
    tag,
    summary: 'Withdraw an invite',
    description: 'Its link ends at once.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: deleted, what: 'Withdrawn' },
    failures: ['not_found', 'conflict', 'storage_full'],
    handle: async ({ actor, params }) => {
      const id = params.id ?? '';
      await invites.remove(actor.workspaceNo, id);
      return jsonResult(200, { deleted: true, id });
    },
  });
}

function accept({ accounts, invites }: WorkspaceServices): Route {
  return createPublicRoute({
    method: 'POST',
    path: '/team/invites/accept',
    operationId: 'acceptInvite',
    tag,
    summary: 'Accept an invite',
    description:
      'By the token of the link, once. A new user gives a name and a password; a known one their ' +
      'password, or nothing when signed in. Emits `member.joined`.',
    body: acceptBody,
    answer: { status: 200, schema: joined, what: 'Where you are a member now' },
    failures: ['not_found', 'conflict', 'gone', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, session, body: { token, name, password }, clientAddress, keep }) => {
      const found = invites.find(token);
      const userId = session === undefined ? undefined : actor?.userId;
      const at = { address: clientAddress, userId };
      const user = await accounts.invitee(found, { name, password }, at);
      return await invites.accept(token, user, (membership) => {
        const result = jsonResult(200, membership);
        keep(result);
        return result;
      });
    },
  });
}
