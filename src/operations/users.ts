/** `quietzone users`: users and their passwords; a service may run. */
import { randomFillSync } from 'node:crypto';
import { type Command, Option } from 'commander';
import { roles, type Role } from '../model/workspace.ts';
import { generatePassword } from '../product/workspaces/passwords.ts';
import {
  addListCommand,
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
  workspaceOption,
} from './command.ts';

interface PasswordOptions extends CommonOptions {
  readonly email: string;
  readonly password?: string;
}

interface CreateOptions extends PasswordOptions {
  readonly name: string;
  readonly role: Role;
  readonly workspace?: string;
}

interface ChangeOptions extends CommonOptions {
  readonly name?: string;
  readonly email?: string;
}

const passwordOption = ['-p, --password <text>', 'default: a generated one, shown once'] as const;

export function addUserCommands(program: Command, context: CommandContext): void {
  const users = program.command('users').description('manage users; a service may run');
  users
    .command('create')
    .description('create a user in a workspace')
    .requiredOption('-e, --email <address>', 'sign-in address')
    .requiredOption('-n, --name <name>', 'display name')
    .addOption(
      new Option('-r, --role <role>', 'role in the workspace').choices(roles).default('editor'),
    )
    .option(...passwordOption)
    .option(...workspaceOption)
    .option(...configOption)
    .action((options: CreateOptions) =>
      administer(context, options, async (ask) => {
        const { email, name, role, workspace, password = newPassword() } = options;
        const { id, of } = await ask('users.create', { email, name, role, workspace, password });
        context.result(`User ${id} (${role} of ${of})${shown(options, password)}`);
      }),
    );
  users
    .command('reset-password')
    .description('set a new password for a user and end their sessions')
    .requiredOption(
      '-e, --email <address>',
      'address of the user, or the id (usr_…) if several accounts share it',
    )
    .option(...passwordOption)
    .option(...configOption)
    .action((options: PasswordOptions) =>
      administer(context, options, async (ask) => {
        const { email: user, password = newPassword() } = options;
        const { id } = await ask('users.reset-password', { user, password });
        context.result(
          `User ${id} has a new password, all sessions ended${shown(options, password)}`,
        );
      }),
    );
  addAddressCommands(users, context);
}

function addAddressCommands(users: Command, context: CommandContext): void {
  users
    .command('change')
    .description('change the name or e-mail address of a user; the new address is confirmed')
    .argument('<user>', 'id or e-mail address')
    .option('-n, --name <name>', 'display name')
    .option('-e, --email <address>', 'sign-in address')
    .option(...configOption)
    .action((reference: string, options: ChangeOptions) =>
      administer(context, options, async (ask) => {
        const { name: newName, email: newEmail } = options;
        const wish = { user: reference, name: newName, email: newEmail };
        const { id, name, email } = await ask('users.change', wish);
        context.result(`User ${id} is now ${name} and signs in as ${email}`);
      }),
    );
  addListCommand(
    users,
    context,
    'list the users, and whether their e-mail address is confirmed',
    (ask, { workspace }) => ask('users.list', { workspace }),
  ).option('-w, --workspace <id>', 'workspace (default: all)');
  users
    .command('confirm')
    .description('confirm that an e-mail address belongs to a user; no other account can own it')
    .argument('<user>', 'id or e-mail address')
    .option(...configOption)
    .action((reference: string, options: CommonOptions) =>
      administer(context, options, async (ask) => {
        const { id, email } = await ask('users.confirm', { user: reference });
        context.result(`User ${id} is confirmed: ${email} belongs to them`);
      }),
    );
}

const newPassword = (): string => generatePassword((bytes) => randomFillSync(bytes));

const shown = (given: PasswordOptions, password: string): string =>
  given.password === undefined ? `, password shown once:\n${password}` : '';
