/** /workspaces: list those one belongs to, create, switch. What one says on its pages: workspace-pages.ts. */
import { z } from 'zod';
import type { WorkspaceRecord } from '../../model/workspace.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { emptyBody } from '../kernel/fields.ts';
import { created, listRoute, pageSchema, postRoute } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { name, viewWorkspace, workspace } from './people.ts';
import { requireSession, sessionSchema, type SessionView } from './session.ts';

const workspaceBody = z
  .strictObject({ name: name.meta({ example: 'Second shop' }) })
  .meta({ id: 'WorkspaceName' });

const tag = 'Workspaces';

export function workspaceRoutes(services: WorkspaceServices, view: SessionView): Route[] {
  const { workspaces, sessions } = services;
  const listWorkspaces = listRoute({
    path: '/workspaces',
    operationId: 'listWorkspaces',
    access: 'viewer',
    tag,
    summary: 'List your workspaces',
    description: 'Those you are a member of, newest first; an API key sees its own alone.',
    schema: pageSchema('WorkspacePage', workspace),
    items: ({ actor, session }) => {
      const own = session === undefined ? workspaces.find(actor.workspaceNo) : undefined;
      if (own === undefined) return workspaces.of(actor.userId);
      return [{ workspace: own, role: actor.role }];
    },
    idOf: (item) => item.workspace.id,
    view: (item) => viewWorkspace(item.workspace, item.role),
  });
  const createWorkspace = postRoute({
    path: '/workspaces',
    operationId: 'createWorkspace',
    access: 'person',
    tag,
    summary: 'Create a workspace',
    description: 'A Free one that you own. Your session stays where it is: switch to go there.',
    body: workspaceBody,
    answer: { status: 201, schema: workspace, what: 'The workspace; Location names it' },
    make: async ({ actor, body }, kept) => await workspaces.create(actor.userId, body.name, kept),
    result: (made: WorkspaceRecord) => created('/workspaces', viewWorkspace(made, 'owner')),
  });
  const switchWorkspace = createRoute({
    method: 'POST',
    path: '/workspaces/:id/switch',
    operationId: 'switchWorkspace',
    access: 'person',
    tag,
    summary: 'Switch to a workspace',
    description: 'From the next request on your session works there.',
    body: emptyBody,
    isRepeatable: true,
    answer: { status: 200, schema: sessionSchema, what: 'Who you are now' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ session, id }) => {
      const own = requireSession(session);
      const actor = await sessions.switchTo(own.hash, id);
      return jsonResult(200, view(actor, own.csrfToken));
    },
  });
  return [listWorkspaces, createWorkspace, switchWorkspace];
}
