/**
 * /api-keys: make, list, revoke, rotate. The secret is in the answer that makes it; rotation and
 * revocation touch no redirect.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { MadeKey } from '../../workspaces/api-keys.ts';
import type { WorkspaceServices } from '../../workspaces/services.ts';
import { noBody, noQuery } from '../fields.ts';
import {
  apiKey,
  apiKeyBody,
  deleted,
  madeApiKey,
  rotateBody,
  viewApiKey,
} from './people-schemas.ts';
import { createRoute, jsonResult, type Result, type Route } from '../route.ts';
import { pageResult, pageSchema, shortListQuery } from '../short-list.ts';

const tag = 'API keys';
const millisecondsPerSecond = 1_000;

export interface ApiKeysOptions {
  readonly workspaces: WorkspaceServices;
  readonly clock: Clock;
}

export function apiKeyRoutes(options: ApiKeysOptions): Route[] {
  const { workspaces } = options;
  return [createOne(options), listMany(workspaces), deleteOne(workspaces), rotateOne(workspaces)];
}

function createOne({ workspaces: { keys }, clock }: ApiKeysOptions): Route {
  return createRoute({
    method: 'POST',
    path: '/api-keys',
    operationId: 'createApiKey',
    tag,
    summary: 'Create an API key',
    description: 'It speaks for you, with a role up to yours. The secret is shown this once.',
    query: noQuery,
    body: apiKeyBody,
    answer: { status: 201, schema: madeApiKey, what: 'The key; Location names it' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, body: { name, role, expiresAt }, keep }) => {
      if (expiresAt !== null && expiresAt <= clock.now()) {
        const message = 'Expected a time in the future';
        const faults = [{ path: 'expiresAt', code: 'in_the_past', message }];
        throw new Failure('validation_failed', message, { faults });
      }
      const wanted = {
        workspaceNo: actor.workspaceNo,
        userId: actor.userId,
        name,
        role,
        grantor: actor.role,
        ...(expiresAt === null ? {} : { expiresAtMs: expiresAt }),
      };
      return created(await keys.create(wanted, (made) => keep(created(made))));
    },
  });
}

function listMany({ keys }: WorkspaceServices): Route {
  return createRoute({
    method: 'GET',
    path: '/api-keys',
    operationId: 'listApiKeys',
    tag,
    summary: 'List API keys',
    description: 'The workspace’s keys, revoked ones too, newest first. Never their secrets.',
    query: shortListQuery,
    body: noBody,
    answer: { status: 200, schema: pageSchema('ApiKeyPage', apiKey), what: 'A page' },
    failures: [],
    handle: ({ actor, query }) =>
      pageResult(
        keys.list(actor.workspaceNo).toReversed(),
        query,
        ({ id }) => id,
        (record) => viewApiKey(record, keys.lastUsedAtMs(record.id)),
      ),
  });
}

function deleteOne({ keys }: WorkspaceServices): Route {
  return createRoute({
    method: 'DELETE',
    path: '/api-keys/:id',
    operationId: 'deleteApiKey',
    tag,
    summary: 'Revoke an API key',
    description:
      'From the next request on it is refused. A key above your role is not yours to end.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: deleted, what: 'Revoked' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, params }) => {
      const id = params.id ?? '';
      await keys.revoke(actor.workspaceNo, id, actor.role);
      return jsonResult(200, { deleted: true, id });
    },
  });
}

function rotateOne({ keys }: WorkspaceServices): Route {
  return createRoute({
    method: 'POST',
    path: '/api-keys/:id/rotate',
    operationId: 'rotateApiKey',
    tag,
    summary: 'Rotate an API key',
    description:
      'Makes a key in its place, with its name and role, for you. Both work for `overlapSeconds`, ' +
      'then the old one has expired.',
    query: noQuery,
    body: rotateBody,
    answer: { status: 201, schema: madeApiKey, what: 'The new key; Location names it' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, params, body: { overlapSeconds }, keep }) => {
      const overlapMs = overlapSeconds * millisecondsPerSecond;
      const kept = (made: MadeKey): void => keep(created(made));
      return created(await keys.rotate(actor, params.id ?? '', overlapMs, kept));
    },
  });
}

function created({ record, token }: MadeKey): Result {
  const headers = { Location: `/v1/api-keys/${record.id}` };
  return jsonResult(201, { ...viewApiKey(record, undefined), key: token }, headers);
}
