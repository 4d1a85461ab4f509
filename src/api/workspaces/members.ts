/** /team/members: who belongs to the workspace, as what. The rules are the workspaces room's. */
import type { WorkspaceServices } from '../../workspaces/services.ts';
import { noBody, noQuery } from '../fields.ts';
import { deleted, member, memberBody, viewMember } from './people-schemas.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';
import { pageResult, pageSchema, shortListQuery } from '../short-list.ts';

const tag = 'Team';

export function memberRoutes(workspaces: WorkspaceServices): Route[] {
  return [listMany(workspaces), patchOne(workspaces), deleteOne(workspaces)];
}

function listMany({ members }: WorkspaceServices): Route {
  return createRoute({
    method: 'GET',
    path: '/team/members',
    operationId: 'listMembers',
    tag,
    summary: 'List members',
    description: 'Everybody in the workspace, newest user first.',
    query: shortListQuery,
    body: noBody,
    answer: { status: 200, schema: pageSchema('MemberPage', member), what: 'A page' },
    failures: [],
    handle: ({ actor, query }) =>
      pageResult(members.list(actor.workspaceNo), query, ({ user }) => user.id, viewMember),
  });
}

function patchOne({ members }: WorkspaceServices): Route {
  return createRoute({
    method: 'PATCH',
    path: '/team/members/:userId',
    operationId: 'updateMember',
    tag,
    summary: 'Change a member’s role',
    description:
      'Up to your own role, of members up to your own role; the last owner stays. Holds from the ' +
      'next request, for their API keys too.',
    query: noQuery,
    body: memberBody,
    answer: { status: 200, schema: member, what: 'The member' },
    failures: ['not_found', 'conflict', 'storage_full'],
    handle: async ({ actor, params, body }) =>
      jsonResult(200, viewMember(await members.changeRole(actor, params.userId ?? '', body.role))),
  });
}

function deleteOne({ members }: WorkspaceServices): Route {
  return createRoute({
    method: 'DELETE',
    path: '/team/members/:userId',
    operationId: 'deleteMember',
    tag,
    summary: 'Remove a member',
    description: 'Their keys and sessions end here with the next request; the last owner stays.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: deleted, what: 'Removed' },
    failures: ['not_found', 'conflict', 'storage_full'],
    handle: async ({ actor, params }) => {
      const id = params.userId ?? '';
      await members.remove(actor, id);
      return jsonResult(200, { deleted: true, id });
    },
  });
}
