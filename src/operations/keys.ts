/** `quietzone keys`: API keys. A running service follows a change from its next request on. */
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
  const keys = program.command('keys').description('API keys, also while a service runs');
  keys
    .command('create')
    .description('make an API key; it is shown once')
    .requiredOption('-n, --name <name>', 'what it is for')
    .addOption(new Option('-r, --role <role>', 'what it may do').choices(roles).default('owner'))
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
    .description('refuse a key from its next request on')
    .argument('<id>', 'key')
    .option(...configOption)
    .action((id: string, options: CommonOptions) =>
      administer(context, options, async (ask) => {
        await ask('keys.revoke', { id });
        context.result(`API key ${id} is revoked: its next request is refused`);
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
  return `New API keys are signed with ${kid} from now on${on}; existing keys stay valid${late}`;
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
