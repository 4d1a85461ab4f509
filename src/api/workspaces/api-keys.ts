/**
 * /api-keys: create, list, revoke, rotate. The secret is only in the answer that makes it; rotation and
 * revocation touch no redirect.
 */
import { z } from 'zod';
import type { Clock } from '../../model/clock.ts';
import { invalid } from '../../model/failure.ts';
import type { MadeKey } from '../../product/workspaces/api-keys.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { createdAt, idField, moment, time } from '../kernel/fields.ts';
import { created, deleteRoute, listRoute, pageSchema, postRoute } from '../kernel/resource.ts';
import type { Result, Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';
import { name, role, userId } from './people.ts';

const overlapSecondsStandard = 86_400;
const overlapSecondsMax = 30 * 86_400;

const keyFields = {
  id: idField('key', 'Id of the key'),
  name: z.string().meta({ description: 'What people call it', example: 'Till' }),
  role: role.meta({ description: 'What it may do' }),
  userId: userId.meta({ description: 'Whom it speaks for' }),
  createdAt,
  lastUsedAt: time.nullable().meta({ description: 'Null before its first request' }),
  expiresAt: time
    .nullable()
    .meta({ description: 'From then on it is refused; null = never', example: null }),
  revokedAt: time
    .nullable()
    .meta({ description: 'Since then it is refused; null while it is good', example: null }),
};
const apiKey = z.object(keyFields).meta({ id: 'ApiKey' });
const madeApiKey = z
  .object({
    ...keyFields,
    key: z.string().meta({ description: 'The secret, shown this once', example: 'eyJhbGciOi…' }),
  })
  .meta({ id: 'MadeApiKey' });
const apiKeyBody = z
  .strictObject({
    name: name.meta({ description: 'What it is for', example: 'Till' }),
    role: role.default('editor').meta({ description: 'What it may do, up to your own role' }),
    expiresAt: moment.nullable().default(null).meta({ description: 'Absent: it does not expire' }),
  })
  .meta({ id: 'ApiKeyCreate', example: { name: 'Till', role: 'editor' } });
const rotateBody = z
  .strictObject({
    overlapSeconds: z.int().min(0).max(overlapSecondsMax).default(overlapSecondsStandard).meta({
      description: 'How long the key before still works',
    }),
  })
  .default({ overlapSeconds: overlapSecondsStandard })
  .meta({ id: 'ApiKeyRotate', example: { overlapSeconds: 3600 } });

const madeResult = ({ record, token }: MadeKey): Result =>
  created('/api-keys', view(madeApiKey, { ...record, key: token }));

const tag = 'API keys';

export interface ApiKeysOptions {
  readonly workspaces: WorkspaceServices;
  readonly clock: Clock;
}

export function apiKeyRoutes({ workspaces: { keys }, clock }: ApiKeysOptions): Route[] {
  const createApiKey = postRoute({
    path: '/api-keys',
    operationId: 'createApiKey',
    access: 'admin',
    tag,
    summary: 'Create an API key',
    description: 'It speaks for you, with a role up to yours. The secret is shown this once.',
    body: apiKeyBody,
    answer: { status: 201, schema: madeApiKey, what: 'The key; Location names it' },
    make: async ({ actor, body: { name: given, role: granted, expiresAt } }, kept) => {
      if (expiresAt !== null && expiresAt <= clock.now()) {
        throw invalid('expiresAt', 'in_the_past', 'Expected a time in the future');
      }
      const wanted = {
        workspaceNo: actor.workspaceNo,
        userId: actor.userId,
        name: given,
        role: granted,
        grantor: actor.role,
        ...(expiresAt === null ? {} : { expiresAtMs: expiresAt }),
      };
      return await keys.create(wanted, kept);
    },
    result: madeResult,
  });
  const listApiKeys = listRoute({
    path: '/api-keys',
    operationId: 'listApiKeys',
    access: 'admin',
    tag,
    summary: 'List API keys',
    description: 'The workspace’s keys, revoked ones too, newest first. Never their secrets.',
    schema: pageSchema('ApiKeyPage', apiKey),
    items: ({ actor }) => keys.list(actor.workspaceNo).toReversed(),
    idOf: ({ id }) => id,
    view: (record) => view(apiKey, { ...record, lastUsedAtMs: keys.lastUsedAtMs(record.id) }),
  });
  const deleteApiKey = deleteRoute({
    path: '/api-keys/:id',
    operationId: 'deleteApiKey',
    access: 'admin',
    tag,
    summary: 'Revoke an API key',
    description:
      'From the next request on it is refused. A key above your role is not yours to end.',
    remove: async ({ workspaceNo, role: own }, id) => await keys.revoke(workspaceNo, id, own),
  });
  const rotateApiKey = postRoute({
    path: '/api-keys/:id/rotate',
    operationId: 'rotateApiKey',
    access: 'admin',
    tag,
    summary: 'Rotate an API key',
    description:
      'Makes a key in its place, with its name and role, for you. Both work for `overlapSeconds`, ' +
      'then the old one has expired.',
    body: rotateBody,
    answer: { status: 201, schema: madeApiKey, what: 'The new key; Location names it' },
    failures: ['not_found', 'conflict'],
    make: async ({ actor, id, body: { overlapSeconds } }, kept) =>
      await keys.rotate(actor, id, overlapSeconds * 1_000, kept),
    result: madeResult,
  });
  return [createApiKey, listApiKeys, deleteApiKey, rotateApiKey];
}
