/** /workspaces: those one belongs to, a new one, a new name, and changing over. */
import { Failure } from '../../model/failure.ts';
import type { WorkspaceRecord } from '../../model/workspace.ts';
import type { WorkspaceServices } from '../../workspaces/services.ts';
import { noBody, noQuery } from '../fields.ts';
import {
  nothing,
  session as sessionSchema,
  viewWorkspace,
  workspace,
  workspaceBody,
} from './people-schemas.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';
import { given, viewSession } from './session.ts';
import { pageResult, pageSchema, shortListQuery } from '../short-list.ts';

const tag = 'Workspaces';

export function workspaceRoutes(workspaces: WorkspaceServices): Route[] {
  return [listMany(workspaces), createOne(workspaces), patchOne(workspaces), switchTo(workspaces)];
}

function listMany({ workspaces }: WorkspaceServices): Route {
  return createRoute({
    method: 'GET',
    path: '/workspaces',
    operationId: 'listWorkspaces',
    tag,
    summary: 'List your workspaces',
    description: 'Those you are a member of, newest first; an API key sees its own alone.',
    query: shortListQuery,
    body: noBody,
    answer: { status: 200, schema: pageSchema('WorkspacePage', workspace), what: 'A page' },
    failures: [],
    handle: ({ actor, session, query }) => {
      const all = workspaces.of(actor.userId);
      const own = workspaces.find(actor.workspaceNo);
      const seen =
        session !== undefined || own === undefined ? all : [{ workspace: own, role: actor.role }];
      return pageResult(
        seen,
        query,
        (item) => item.workspace.id,
        (item) => viewWorkspace(item.workspace, item.role),
      );
    },
  });
}

function createOne({ workspaces }: WorkspaceServices): Route {
  return createRoute({
    method: 'POST',
    path: '/workspaces',
    operationId: 'createWorkspace',
    tag,
    summary: 'Create a workspace',
    description: 'A Free one that you own. Your session stays where it is: switch to go there.',
    query: noQuery,
    body: workspaceBody,
    answer: { status: 201, schema: workspace, what: 'The workspace; Location names it' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, body, keep }) => {
      const created = (made: WorkspaceRecord) =>
        jsonResult(201, viewWorkspace(made, 'owner'), { Location: `/v1/workspaces/${made.id}` });
      return created(
        await workspaces.create(actor.userId, body.name, (made) => keep(created(made))),
      );
    },
  });
}

function patchOne({ workspaces }: WorkspaceServices): Route {
  return createRoute({
    method: 'PATCH',
    path: '/workspaces/:id',
    operationId: 'updateWorkspace',
    tag,
    summary: 'Rename a workspace',
    description: 'The one you are in.',
    query: noQuery,
    body: workspaceBody,
    answer: { status: 200, schema: workspace, what: 'The workspace' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, params, body }) => {
      if (params.id !== actor.workspaceId) {
        throw new Failure('not_found', 'There is no workspace with this id');
      }
      const changed = await workspaces.rename(actor.workspaceNo, body.name);
      return jsonResult(200, viewWorkspace(changed, actor.role));
    },
  });
}

function switchTo(services: WorkspaceServices): Route {
  return createRoute({
    method: 'POST',
    path: '/workspaces/:id/switch',
    operationId: 'switchWorkspace',
    tag,
    summary: 'Switch to a workspace',
    description: 'From the next request on your session works there.',
    query: noQuery,
    body: nothing,
    isRepeatable: true,
    answer: { status: 200, schema: sessionSchema, what: 'Who you are now' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ session, params }) => {
      const own = given(session);
      const actor = await services.sessions.switchTo(own.hash, params.id ?? '');
      return jsonResult(200, viewSession(services, actor, own.csrfToken));
    },
  });
}
