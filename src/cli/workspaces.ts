/** `quietzone workspaces`, plans and limits, and `quietzone billing`, checkouts of the manual provider; also while a service runs. */
import { Argument, type Command, InvalidArgumentError } from 'commander';
import type { Administration } from '../app.ts';
import { isoTime } from '../model/day.ts';
import { Failure } from '../model/failure.ts';
import { limitsOf, plans, type Plan, type PlanLimits } from '../model/workspace.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import {
  addListCommand,
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
  workspaceOf,
} from './command.ts';

interface PlanOptions extends CommonOptions {
  readonly perMinute?: number;
  readonly perDay?: number;
}

export function addWorkspaceCommands(program: Command, context: CommandContext): void {
  const workspaces = program
    .command('workspaces')
    .description('workspaces, their plans and limits');
  addListCommand(workspaces, context, 'list the workspaces', ({ services }) =>
    listWorkspaces(services),
  );
  workspaces
    .command('set-plan')
    .description('change plan and, for enterprise, limits; they hold from the next request')
    .argument('<id>', 'workspace')
    .addArgument(new Argument('<plan>', 'plan').choices(plans))
    .option('--per-minute <requests>', 'enterprise: requests a minute', wholeNumber)
    .option('--per-day <requests>', 'enterprise: requests a day (default: no cap)', wholeNumber)
    .option(...configOption)
    .action((id: string, plan: Plan, options: PlanOptions) =>
      administer(context, options, async ({ services }) =>
        context.result(await setPlan(services, id, plan, options)),
      ),
    );
}

function listWorkspaces({ workspaces, users }: WorkspaceServices): object[] {
  return [...workspaces.all()].map((workspace) => {
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
  });
}

/** Only Enterprise has its own limits. @throws Failure validation_failed, not_found */
async function setPlan(
  services: WorkspaceServices,
  id: string,
  plan: Plan,
  limits: PlanOptions,
): Promise<string> {
  const own = limits.perMinute !== undefined || limits.perDay !== undefined;
  if (own && plan !== 'enterprise') {
    throw new Failure('validation_failed', `Cannot set limits of ${plan}: expected enterprise`);
  }
  const workspace = workspaceOf(services, id);
  const { perMinute = limitsOf({ ...workspace, plan }).perMinute, perDay } = limits;
  const override: PlanLimits | undefined = own ? { perMinute, perDay } : undefined;
  const changed = await services.workspaces.setPlan(workspace.no, plan, override);
  const now = limitsOf(changed);
  const day = now.perDay === undefined ? 'no daily cap' : `${now.perDay} a day`;
  return `${changed.name} is ${plan}: ${now.perMinute} requests a minute, ${day}`;
}

/** A number on the command line. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from 1.');
}

export function addBillingCommands(program: Command, context: CommandContext): void {
  const billing = program
    .command('billing')
    .description('checkouts, also beside a running service (plans: workspaces set-plan)');
  addListCommand(billing, context, 'list the checkouts of all workspaces that wait', pending);
  billing
    .command('confirm <checkout>')
    .description('settle a checkout of the manual provider: its plan starts')
    .option(...configOption)
    .action((id: string, options: CommonOptions) =>
      administer(context, options, async ({ billing: open }) => {
        const { plan, interval } = await open.confirm(undefined, id, () => undefined);
        context.result(
          `Checkout ${id} is complete: the plan ${plan}, by the ${interval}, is active`,
        );
      }),
    );
}

function pending({ billing, services: { workspaces, users } }: Administration): object[] {
  return billing.pending().map((checkout) => {
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
  });
}
