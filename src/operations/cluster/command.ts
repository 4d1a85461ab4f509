/** `quietzone cluster`: commands for this machine's running node (running.ts) and for a stopped one (stopped.ts). */
import { type Command, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import {
  type CommandContext,
  type CommonOptions,
  configOf,
  configOption,
  withRole,
} from '../command.ts';

/** Of `serve` and of commands that need the role. */
export const roleOption = (): Option =>
  new Option('--role <role>', 'role of this machine in a cluster (cluster.role)').choices([
    'all',
    'core',
    'edge',
  ]);

/** Of commands that need the role of this machine. */
interface RoleOptions extends CommonOptions {
  readonly role?: string;
}

interface StatusOptions extends RoleOptions {
  readonly json?: true;
}

interface HandoverOptions extends CommonOptions {
  readonly to?: string;
}

interface JoinOptions extends RoleOptions {
  readonly discardScans?: true;
}

interface ReseedOptions extends RoleOptions {
  readonly mostAdvanced?: true;
}

const configWithRole = (context: CommandContext, options: RoleOptions): Config =>
  configOf(withRole(context, options), options);

export function addClusterCommands(program: Command, context: CommandContext): void {
  const cluster = program.command('cluster').description('the cluster of this machine');
  cluster
    .command('status')
    .description('show the leader, connected nodes, and how far each has followed')
    .option('--json', 'print JSON for scripts')
    .addOption(roleOption())
    .option(...configOption)
    .action(async (options: StatusOptions) => {
      const { status } = await import('./running.ts');
      context.result(await status(configWithRole(context, options), options.json === true));
    });
  cluster
    .command('handover')
    .description('let another core lead; a stop of the leader does the same')
    .option('--to <node>', 'the node to lead (default: any connected core)')
    .option(...configOption)
    .action(async (options: HandoverOptions) => {
      const { handOver } = await import('./running.ts');
      context.result(await handOver(configOf(context, options), options.to));
    });
  cluster
    .command('leave <node>')
    .description('remove a node that is stopped for good')
    .option(...configOption)
    .action(async (node: string, options: CommonOptions) => {
      const { leave } = await import('./running.ts');
      context.result(await leave(configOf(context, options), node));
    });
  addStoppedCommands(cluster, context);
}

/** For a stopped machine. */
function addStoppedCommands(cluster: Command, context: CommandContext): void {
  cluster
    .command('adopt')
    .description(
      'make a stopped single machine, or a restored backup, the first core of a new cluster',
    )
    .addOption(roleOption())
    .option(...configOption)
    .action(async (options: RoleOptions) => {
      const { adoptText } = await import('./stopped.ts');
      context.result(await adoptText(configWithRole(context, options), context));
    });
  cluster
    .command('join')
    .description(
      'set the data of a stopped core aside: its next start copies the data of another core',
    )
    .option('--discard-scans', 'even if only this machine has some of its scans')
    .addOption(roleOption())
    .option(...configOption)
    .action(async (options: JoinOptions) => {
      const { joinText } = await import('./stopped.ts');
      const config = configWithRole(context, options);
      const scans = options.discardScans === true ? 'discarded' : 'kept';
      context.result(await joinText(config, context, scans));
    });
  cluster
    .command('reseed')
    .description(
      'restart the logs from this core after the brokers lost their data; all cores must have stopped following',
    )
    .option('--most-advanced', 'no other core has a higher epoch, or in it a higher position')
    .addOption(roleOption())
    .option(...configOption)
    .action(async (options: ReseedOptions) => {
      const { reseedText } = await import('./stopped.ts');
      const config = configWithRole(context, options);
      context.result(await reseedText(config, context, options.mostAdvanced === true));
    });
}
