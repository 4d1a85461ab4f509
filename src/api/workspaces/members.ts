/** /team/members: who belongs to the workspace, with which role. The rules are in product/workspaces/members.ts. */
import { z } from 'zod';
import type { Member } from '../../product/workspaces/members.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { time } from '../kernel/fields.ts';
import { deleteRoute, listRoute, pageSchema } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';
import { role, shownEmail, shownName, userId } from './people.ts';

const member = z
  .object({
    userId,
    email: shownEmail,
    name: shownName,
    role,
    joinedAt: time.meta({ description: 'Since when they are a member' }),
  })
  .meta({ id: 'Member' });
const memberBody = z
  .strictObject({ role })
  .meta({ id: 'MemberChange', example: { role: 'admin' } });

const viewMember = ({ user, ...membership }: Member) =>
  view(member, { ...user, ...membership, userId: user.id });

const tag = 'Team';

export function memberRoutes({ members }: WorkspaceServices): Route[] {
  const listMembers = listRoute({
    path: '/team/members',
    operationId: 'listMembers',
    access: 'viewer',
    tag,
    summary: 'List members',
    description: 'Everybody in the workspace, newest user first.',
    schema: pageSchema('MemberPage', member),
    items: ({ actor }) => members.list(actor.workspaceNo),
    idOf: ({ user }) => user.id,
    view: viewMember,
  });
  const updateMember = createRoute({
    method: 'PATCH',
    path: '/team/members/:userId',
    operationId: 'updateMember',
    access: 'admin',
    tag,
    summary: 'Change a member’s role',
    description:
      'Up to your own role, of members up to your own role; the last owner stays. Holds from the ' +
      'next request, for their API keys too. Pending invites that they could not send with the new role end.',
    body: memberBody,
    answer: { status: 200, schema: member, what: 'The member' },
    failures: ['not_found', 'conflict', 'storage_full'],
    handle: async ({ actor, id, body }) =>
      jsonResult(200, viewMember(await members.changeRole(actor, id, body.role))),
  });
  const deleteMember = deleteRoute({
    path: '/team/members/:userId',
    operationId: 'deleteMember',
    access: 'admin',
    tag,
    summary: 'Remove a member',
    description:
      'Their keys and sessions end here with the next request, their pending invites at once; the last owner ' +
      'stays.',
    failures: ['not_found', 'conflict', 'storage_full'],
    remove: async (actor, id) => await members.remove(actor, id),
  });
  return [listMembers, updateMember, deleteMember];
}
