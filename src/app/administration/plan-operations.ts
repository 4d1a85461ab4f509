/** Workspaces, their plans and limits, and checkouts of the manual provider. */
import { z } from 'zod';
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { limitsOf, plans, type PlanLimits } from '../../model/workspace.ts';
import { operation } from './operation.ts';
import { workspaceOf } from './people-operations.ts';

const nothing = z.strictObject({});
const limit = z.int().min(1).optional();

export const planOperations = {
  'workspaces.list': operation('reads', nothing, ({ services: { workspaces, users } }) =>
    [...workspaces.all()].map((workspace) => {
      const { perMinute, perDay } = limitsOf(workspace);
      return {
        id: workspace.id,
        name: workspace.name,
        plan: workspace.plan,
        perMinute,
        perDay: perDay ?? null,
        owner: users.firstOwner(workspace.no)?.email ?? null,
        createdAt: isoTime(workspace.createdAtMs),
      };
    }),
  ),
  /** Only Enterprise has its own limits. */
  'workspaces.set-plan': operation(
    'changes',
    z.strictObject({ id: z.string(), plan: z.enum(plans), perMinute: limit, perDay: limit }),
    async ({ services }, { id, plan, ...limits }) => {
      const own = limits.perMinute !== undefined || limits.perDay !== undefined;
      if (own && plan !== 'enterprise') {
        throw new Failure('validation_failed', `Cannot set limits of ${plan}: expected enterprise`);
      }
      const workspace = workspaceOf(services, id);
      const { perMinute = limitsOf({ ...workspace, plan }).perMinute, perDay } = limits;
      const override: PlanLimits | undefined = own ? { perMinute, perDay } : undefined;
      const changed = await services.workspaces.setPlan(workspace.no, plan, override);
      const now = limitsOf(changed);
      return { name: changed.name, perMinute: now.perMinute, perDay: now.perDay ?? null };
    },
  ),
  'billing.list': operation('reads', nothing, ({ billing, services: { workspaces, users } }) =>
    billing.pending().map((checkout) => {
      const { id, workspaceNo, plan, interval, price, provider } = checkout;
      const workspace = workspaces.get(workspaceNo);
      return {
        id,
        workspace: workspace.id,
        name: workspace.name,
        planNow: workspace.plan,
        plan,
        interval,
        amount: price.amount,
        currency: price.currency,
        provider,
        askedBy: users.find(checkout.createdBy)?.email ?? null,
        createdAt: isoTime(checkout.createdAtMs),
        expiresAt: isoTime(checkout.expiresAtMs),
      };
    }),
  ),
  'billing.confirm': operation(
    'changes',
    z.strictObject({ id: z.string() }),
    async ({ billing }, { id }) => {
      const { plan, interval } = await billing.confirm(undefined, id, () => undefined);
      return { plan, interval };
    },
  ),
};
