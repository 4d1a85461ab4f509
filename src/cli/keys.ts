/** `quietzone keys`: API keys, also while a service runs; it sees a change with its next request. */
import { type Command, Option } from 'commander';
import { isoTime } from '../model/day.ts';
import { Failure } from '../model/failure.ts';
import { roles, type Role } from '../model/workspace.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import {
  addListCommand,
  administer,
  type CommandContext,
  type CommonOptions,
  configOf,
  configOption,
  type ListOptions,
  workspaceOf,
  workspaceOption,
} from './command.ts';

interface CreateOptions extends ListOptions {
  readonly name: string;
  readonly role: Role;
}

export function addKeyCommands(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('API keys, also beside a running service');
  keys
    .command('create')
    .description('make an API key; it is shown once')
    .requiredOption('-n, --name <name>', 'what it is for')
    .addOption(new Option('-r, --role <role>', 'what it may do').choices(roles).default('owner'))
    .option(...workspaceOption)
    .option('--json', 'print {"key": "…"} for scripts')
    .option(...configOption)
    .action((options: CreateOptions) =>
      administer(context, options, ({ services }) => createKey(context, options, services)),
    );
  addListCommand(
    keys,
    context,
    'list the API keys without their secrets',
    ({ services }, { workspace }) => listKeys(services, workspace),
  ).option('-w, --workspace <id>', 'workspace (default: all)');
  keys
    .command('revoke')
    .description('refuse a key from its next request on')
    .argument('<id>', 'key')
    .option(...configOption)
    .action((id: string, options: CommonOptions) =>
      administer(context, options, async ({ services }) => {
        await revokeKey(services, id);
        context.result(`API key ${id} is revoked: its next request is refused`);
      }),
    );
  keys
    .command('rotate-signing')
    .description('sign new keys with a new secret; keys that exist stay valid')
    .option(...configOption)
    .action(async (options: CommonOptions) => {
      const settings = configOf(context, options);
      if (settings.cluster.nats.length > 0) {
        const { rotateSigning } = await import('./cluster/requests.ts');
        context.result(await rotateSigning(settings));
        return;
      }
      await administer(context, options, ({ services }) => {
        const kid = services.rotateSigningKeys();
        context.result(
          `New API keys are signed with ${kid} from now on; those that exist stay valid`,
        );
      });
    });
}

async function createKey(
  context: CommandContext,
  options: CreateOptions,
  services: WorkspaceServices,
): Promise<void> {
  const workspace = workspaceOf(services, options.workspace);
  const owner = services.users.firstOwner(workspace.no);
  if (owner === undefined) throw new Failure('not_found', 'The workspace has no owner');
  const { token, record } = await services.keys.create({
    workspaceNo: workspace.no,
    userId: owner.id,
    name: options.name,
    role: options.role,
  });
  const { id, name, role } = record;
  context.result(
    options.json === true
      ? JSON.stringify({ key: token, id, name, role })
      : `API key ${id} (${role}) of ${workspace.name}, shown once:\n${token}`,
  );
}

/** @param id a workspace; undefined = all */
function listKeys(services: WorkspaceServices, id: string | undefined): object[] {
  const { keys, workspaces } = services;
  const listed = id === undefined ? [...workspaces.all()] : [workspaceOf(services, id)];
  return listed.flatMap((workspace) =>
    keys.list(workspace.no).map((key) => ({
      id: key.id,
      workspaceId: workspace.id,
      name: key.name,
      role: key.role,
      createdAt: isoTime(key.createdAtMs),
      lastUsedAt: timeOrNull(keys.lastUsedAtMs(key.id)),
      expiresAt: timeOrNull(key.expiresAtMs),
      revokedAt: timeOrNull(key.revokedAtMs),
    })),
  );
}

async function revokeKey({ keys }: WorkspaceServices, id: string): Promise<void> {
  const record = keys.find(id);
  if (record === undefined) throw new Failure('not_found', `There is no API key ${id}`);
  await keys.revoke(record.workspaceNo, id);
}

const timeOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : isoTime(timeMs);
