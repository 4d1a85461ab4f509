/** `quietzone workspaces`, plans and limits, and `quietzone billing`, checkouts of the manual provider; also while a service runs. */
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { plans, type Plan } from '../model/workspace.ts';
import {
  addListCommand,
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
} from './command.ts';
import type { Ask } from './session.ts';

interface PlanOptions extends CommonOptions {
  readonly perMinute?: number;
  readonly perDay?: number;
}

export function addWorkspaceCommands(program: Command, context: CommandContext): void {
  const workspaces = program
    .command('workspaces')
    .description('workspaces, their plans and limits');
  addListCommand(workspaces, context, 'list the workspaces', (ask) => ask('workspaces.list', {}));
  workspaces
    .command('set-plan')
    .description('change the plan and, for enterprise, the limits; effective with the next request')
    .argument('<id>', 'workspace')
    .addArgument(new Argument('<plan>', 'plan').choices(plans))
    .option('--per-minute <requests>', 'enterprise: requests a minute', wholeNumber)
    .option('--per-day <requests>', 'enterprise: requests a day (default: no cap)', wholeNumber)
    .option(...configOption)
    .action((id: string, plan: Plan, options: PlanOptions) =>
      administer(context, options, async (ask) =>
        context.result(await setPlan(ask, id, plan, options)),
      ),
    );
}

async function setPlan(
  ask: Ask,
  id: string,
  plan: Plan,
  { perMinute, perDay }: PlanOptions,
): Promise<string> {
  const now = await ask('workspaces.set-plan', { id, plan, perMinute, perDay });
  const day = now.perDay === null ? 'no daily cap' : `${now.perDay} a day`;
  return `${now.name} is ${plan}: ${now.perMinute} requests a minute, ${day}`;
}

/** A number on the command line. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from 1.');
}

export function addBillingCommands(program: Command, context: CommandContext): void {
  const billing = program
    .command('billing')
    .description('checkouts, also while a service runs (plans: workspaces set-plan)');
  addListCommand(billing, context, 'list the open checkouts of all workspaces', (ask) =>
    ask('billing.list', {}),
  );
  billing
    .command('confirm <checkout>')
    .description('confirm the payment of a manual checkout; its plan starts')
    .option(...configOption)
    .action((id: string, options: CommonOptions) =>
      administer(context, options, async (ask) => {
        const { plan, interval } = await ask('billing.confirm', { id });
        context.result(
          `Checkout ${id} is complete: the plan ${plan}, by the ${interval}, is active`,
        );
      }),
    );
}
