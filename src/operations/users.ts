/** `quietzone users`: users and their passwords, also while a service runs. */
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
  const users = program.command('users').description('people, also while a service runs');
  users
    .command('create')
    .description('make a user who is a member of a workspace')
    .requiredOption('-e, --email <address>', 'to sign in with')
    .requiredOption('-n, --name <name>', 'how others see them')
    .addOption(new Option('-r, --role <role>', 'what they may do').choices(roles).default('editor'))
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
      'of the user; their id (usr_…) if several accounts share the address',
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
    .argument('<user>', 'id, or the e-mail address of one account')
    .option('-n, --name <name>', 'how others see them')
    .option('-e, --email <address>', 'to sign in with')
    .option(...configOption)
    .action((reference: string, options: ChangeOptions) =>
      administer(context, options, async (ask) => {
        const { name: newName, email: newEmail } = options;
        const wish = { user: reference, name: newName, email: newEmail };
        const { id, name, email } = await ask('users.change', wish);
        context.result(`User ${id} is ${name}, and signs in as ${email}`);
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
    .argument('<user>', 'id, or the e-mail address of one account')
    .option(...configOption)
    .action((reference: string, options: CommonOptions) =>
      administer(context, options, async (ask) => {
        const { id, email } = await ask('users.confirm', { user: reference });
        context.result(`User ${id} is confirmed: ${email} is theirs`);
      }),
    );
}

const newPassword = (): string => generatePassword((bytes) => randomFillSync(bytes));

const shown = (given: PasswordOptions, password: string): string =>
  given.password === undefined ? `, password shown once:\n${password}` : '';
