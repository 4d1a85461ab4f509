/** /profile/digest: whether the signed-in person gets the numbers of their present workspace by mail. */
import { z } from 'zod';
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { digestFrequencies } from '../../model/reports/report.ts';
import type { Digests } from '../../product/reports/digests/digests.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { isProven } from '../../product/workspaces/users.ts';
import { time } from '../kernel/fields.ts';
import { getRoute } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';

const tag = 'Sessions';

const frequency = z.enum(['off', ...digestFrequencies]).meta({
  description:
    '`weekly`: at 08:00 on the first day of the workspace’s week; `monthly`: at 08:00 on the first',
  example: 'weekly',
});
const digest = z
  .object({
    available: z.boolean().meta({
      description: 'Whether this service sends mail, and your address is confirmed',
      example: true,
    }),
    frequency,
    nextAt: time.nullable().meta({ description: 'Time of the next mail; null = `off`' }),
  })
  .meta({ id: 'Digest' });
const digestBody = z.strictObject({ frequency }).meta({ id: 'DigestChange' });

export interface DigestRoutesOptions {
  readonly digests: Digests;
  readonly users: WorkspaceServices['users'];
  readonly sendsMail: boolean;
}

export function digestRoutes({ digests, users, sendsMail }: DigestRoutesOptions): Route[] {
  /** Why no mail can go there. */
  const obstacle = (userId: string): string | undefined => {
    if (!sendsMail) return 'this service has no mail server';
    const user = users.find(userId);
    const isReachable = user !== undefined && isProven(user);
    return isReachable ? undefined : 'your e-mail address is not confirmed';
  };
  const view = (key: { readonly userId: string; readonly workspaceNo: number }) => {
    const nextAtMs = digests.nextAtMs(key);
    return {
      available: obstacle(key.userId) === undefined,
      frequency: digests.find(key)?.frequency ?? 'off',
      nextAt: nextAtMs === undefined ? null : isoTime(nextAtMs),
    };
  };
  const getDigest = getRoute({
    path: '/profile/digest',
    operationId: 'getDigest',
    access: 'person',
    tag,
    summary: 'Get your digest',
    description: 'Whether and how often you get the current workspace’s numbers by mail.',
    schema: digest,
    what: 'Your digest',
    read: ({ actor }) => view(actor),
  });
  const updateDigest = createRoute({
    method: 'PUT',
    path: '/profile/digest',
    operationId: 'updateDigest',
    access: 'person',
    tag,
    summary: 'Change your digest',
    description:
      'Scans, unique scanners, the earlier period, codes and countries of the current workspace, to your ' +
      'address. Each mail has an unsubscribe link. 409 if the service has no mail server, or your address is not ' +
      'confirmed.',
    body: digestBody,
    answer: { status: 200, schema: digest, what: 'Your digest' },
    failures: ['conflict', 'storage_full'],
    handle: async ({ actor, body }) => {
      const { userId, workspaceNo } = actor;
      if (body.frequency === 'off') await digests.end({ userId, workspaceNo });
      else {
        const why = obstacle(userId);
        if (why !== undefined) throw new Failure('conflict', `Cannot send you a digest: ${why}`);
        await digests.ask({ userId, workspaceNo }, body.frequency);
      }
      return jsonResult(200, view({ userId, workspaceNo }));
    },
  });
  return [getDigest, updateDigest];
}
