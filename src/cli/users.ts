/** `quietzone users`: people and their passwords, beside a running service too. */
import { randomFillSync } from 'node:crypto';
import { type Command, Option } from 'commander';
import { roles, type Role } from '../model/workspace.ts';
import { generatePassword } from '../workspaces/passwords.ts';
import {
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
  workspaceOf,
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

const passwordOption = ['-p, --password <text>', 'default: one is made and shown once'] as const;

export function addUserCommands(program: Command, context: CommandContext): void {
  const users = program.command('users').description('people, also beside a service');
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
      administer(context, options, async ({ services }) => {
        const { email, name, role } = options;
        const workspace = workspaceOf(services, options.workspace);
        const password = options.password ?? newPassword();
        const user = await services.users.create(workspace.no, role, { email, name, password });
        context.result(`User ${user.id} (${role} of ${workspace.name})${shown(options, password)}`);
      }),
    );
  users
    .command('reset-password')
    .description('give a user another password and end their sessions')
    .requiredOption('-e, --email <address>', 'whose')
    .option(...passwordOption)
    .option(...configOption)
    .action((options: PasswordOptions) =>
      administer(context, options, async ({ services }) => {
        const password = options.password ?? newPassword();
        const user = await services.accounts.resetPassword(options.email, password);
        context.result(
          `User ${user.id} has a new password, all sessions ended${shown(options, password)}`,
        );
      }),
    );
}

const newPassword = (): string => generatePassword((bytes) => randomFillSync(bytes));

const shown = (given: PasswordOptions, password: string): string =>
  given.password === undefined ? `, password shown once:\n${password}` : '';
