/** `quietzone billing`: checkouts of the manual provider, beside a running service too, which sends their events. */
import type { Command } from 'commander';
import type { Administration } from '../app.ts';
import { isoTime } from '../model/day.ts';
import {
  addListCommand,
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
} from './command.ts';

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
