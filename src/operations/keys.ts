/** `quietzone keys`: API keys. A running service applies a change at its next request. */
import { type Command, Option } from 'commander';
import type { RotationResult } from '../app/administration/people-operations.ts';
import { roles, type Role } from '../model/workspace.ts';
import {
  addListCommand,
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
  type ListOptions,
  workspaceOption,
} from './command.ts';
import type { Ask } from './session.ts';

interface CreateOptions extends ListOptions {
  readonly name: string;
  readonly role: Role;
}

export function addKeyCommands(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('manage API keys; a service may run');
  keys
    .command('create')
    .description('create an API key, shown once')
    .requiredOption('-n, --name <name>', 'purpose of the key')
    .addOption(new Option('-r, --role <role>', 'role of the key').choices(roles).default('owner'))
    .option(...workspaceOption)
    .option('--json', 'print {"key": "…"} for scripts')
    .option(...configOption)
    .action((options: CreateOptions) =>
      administer(context, options, (ask) => createKey(context, options, ask)),
    );
  addListCommand(keys, context, 'list the API keys without their secrets', (ask, { workspace }) =>
    ask('keys.list', { workspace }),
  ).option('-w, --workspace <id>', 'workspace (default: all)');
  keys
    .command('revoke')
    .description('revoke a key from its next request')
    .argument('<id>', 'key')
    .option(...configOption)
    .action((id: string, options: CommonOptions) =>
      administer(context, options, async (ask) => {
        await ask('keys.revoke', { id });
        context.result(`API key ${id} is revoked: its next request fails`);
      }),
    );
  keys
    .command('rotate-signing')
    .description('sign new keys with a new secret; existing keys stay valid')
    .option(...configOption)
    .action((options: CommonOptions) =>
      administer(context, options, async (ask) => {
        context.result(rotationText(await ask('keys.rotate-signing', {})));
      }),
    );
}

function rotationText({ kid, away }: RotationResult): string {
  const on = away === undefined ? '' : ', on every core and without a restart';
  const late =
    away === undefined || away.length === 0
      ? ''
      : `. Not connected now: ${away.join(', ')}; a core gets the key before it can lead`;
  return `New API keys are now signed with ${kid}${on}; existing keys stay valid${late}`;
}

async function createKey(
  context: CommandContext,
  { name, role, workspace, json }: CreateOptions,
  ask: Ask,
): Promise<void> {
  const { of, ...made } = await ask('keys.create', { name, role, workspace });
  context.result(
    json === true
      ? JSON.stringify(made)
      : `API key ${made.id} (${made.role}) of ${of}, shown once:\n${made.key}`,
  );
}
