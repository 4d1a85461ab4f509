/** `quietzone users`: people and their passwords, also while a service runs. */
import { randomFillSync } from 'node:crypto';
import { type Command, Option } from 'commander';
import { isoTime } from '../model/day.ts';
import { Failure } from '../model/failure.ts';
import { roles, type Role, type UserRecord } from '../model/workspace.ts';
import { generatePassword } from '../workspaces/passwords.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import { isProven } from '../workspaces/users.ts';
import {
  addListCommand,
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

interface ChangeOptions extends CommonOptions {
  readonly name?: string;
  readonly email?: string;
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
    .requiredOption(
      '-e, --email <address>',
      'whose; an id (usr_…) where accounts share the address',
    )
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
  addAddressCommands(users, context);
}

function addAddressCommands(users: Command, context: CommandContext): void {
  users
    .command('change')
    .description('give a user another name or e-mail address; the address is confirmed by it')
    .argument('<user>', 'id, or the e-mail address of one account')
    .option('-n, --name <name>', 'how others see them')
    .option('-e, --email <address>', 'to sign in with')
    .option(...configOption)
    .action((reference: string, options: ChangeOptions) =>
      administer(context, options, async ({ services }) => {
        const { id, name, email } = await changeUser(services, reference, options);
        context.result(`User ${id} is ${name}, and signs in as ${email}`);
      }),
    );
  addListCommand(
    users,
    context,
    'list the users, and whether their e-mail address is confirmed',
    ({ services }, { workspace }) => listUsers(services, workspace),
  ).option('-w, --workspace <id>', 'workspace (default: all)');
  users
    .command('confirm')
    .description('say that an e-mail address is the user’s: it is nobody else’s then')
    .argument('<user>', 'id, or the e-mail address of one account')
    .option(...configOption)
    .action((reference: string, options: CommonOptions) =>
      administer(context, options, async ({ services }) => {
        const { id, email } = await services.users.confirm(services.users.get(reference));
        context.result(`User ${id} is confirmed: ${email} is theirs`);
      }),
    );
}

/** @throws Failure not_found, conflict, validation_failed */
async function changeUser(
  { users, profiles }: WorkspaceServices,
  reference: string,
  { name, email }: ChangeOptions,
): Promise<UserRecord> {
  if (name === undefined && email === undefined) {
    throw new Failure('validation_failed', 'Cannot change the user: expected --name or --email');
  }
  const user = users.get(reference);
  // The address first: it may be refused.
  const moved = email === undefined ? user : await profiles.assign(user.id, email);
  return name === undefined ? moved : await profiles.rename(user.id, name);
}

/** @param id a workspace; undefined = all */
function listUsers(services: WorkspaceServices, id: string | undefined): object[] {
  const { users, workspaces } = services;
  const workspace = id === undefined ? undefined : workspaceOf(services, id);
  const isListed = (user: UserRecord): boolean =>
    workspace === undefined || users.roleIn(workspace.no, user.id) !== undefined;
  return [...users.all()].filter(isListed).map((user) => ({
    id: user.id,
    email: user.email,
    name: user.name,
    confirmed: isProven(user),
    workspaces: workspaces.of(user.id).map((one) => `${one.workspace.name} (${one.role})`),
    createdAt: isoTime(user.createdAtMs),
  }));
}

const newPassword = (): string => generatePassword((bytes) => randomFillSync(bytes));

const shown = (given: PasswordOptions, password: string): string =>
  given.password === undefined ? `, password shown once:\n${password}` : '';
