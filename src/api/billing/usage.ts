/** /billing/usage: what the workspace has used of its plan's limits now. Asking with a key counts too. */
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import { isoTime } from '../../model/day.ts';
import { limitsOf, plans } from '../../model/workspace.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { count, time } from '../kernel/fields.ts';
import { getRoute } from '../kernel/resource.ts';
import type { Route } from '../kernel/route.ts';

const window = z.object({
  used: count.meta({ description: 'Requests so far', example: 7 }),
  limit: count.nullable().meta({ description: 'Allowed requests; null = no cap', example: 120 }),
  remaining: count
    .nullable()
    .meta({ description: 'Remaining requests; null = no cap', example: 113 }),
  resetAt: time.meta({ description: 'End of the window; the count then restarts' }),
});
const usage = z
  .object({
    plan: z.enum(plans).meta({ description: 'The workspace’s plan now', example: 'pro' }),
    minute: window.meta({ description: 'This UTC minute' }),
    day: window.meta({ description: 'This UTC day' }),
    qrCodes: count.meta({ description: 'Codes of the workspace', example: 12 }),
  })
  .meta({ id: 'Usage' });

export interface UsageOptions {
  readonly workspaces: WorkspaceServices;
  readonly codes: Codes;
}

export function usageRoutes({ workspaces, codes }: UsageOptions): Route[] {
  return [
    getRoute({
      path: '/billing/usage',
      operationId: 'getUsage',
      access: 'viewer',
      tag: 'Billing',
      summary: 'Get usage',
      description:
        'Requests with keys in this UTC minute and day, the plan’s limits, and the number of codes. Requests of ' +
        'the dashboard are not counted.',
      schema: usage,
      what: 'Usage now',
      read: async ({ actor: { workspaceNo } }) => {
        const workspace = workspaces.workspaces.find(workspaceNo);
        if (workspace === undefined)
          throw new Error('Cannot answer usage: the workspace is missing');
        const { minute, day } = workspaces.quota.usage(workspaceNo);
        const limits = limitsOf(workspace);
        const { total } = await codes.list(workspaceNo, { filter: {}, limit: 1, page: 1 });
        return {
          plan: workspace.plan,
          minute: viewWindow(minute, limits.perMinute),
          day: viewWindow(day, limits.perDay),
          qrCodes: total,
        };
      },
    }),
  ];
}

function viewWindow(
  { used, endMs }: { readonly used: number; readonly endMs: number },
  limit: number | undefined,
) {
  return {
    used,
    limit: limit ?? null,
    remaining: limit === undefined ? null : Math.max(0, limit - used),
    resetAt: isoTime(endMs),
  };
}
