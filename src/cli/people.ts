/** The command line's words for people, keys and workspaces: names, options, and what each calls. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { plans, roles, type Plan, type Role } from '../model/workspace.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import * as people from './people-commands.ts';

export interface CommonOptions {
  readonly config?: string;
}

/** Runs `work` on the stores, beside whatever runs, and prints what it answers. */
export type Print = (
  options: CommonOptions,
  work: (services: WorkspaceServices) => Promise<string> | string,
) => Promise<void>;

interface ListOptions extends CommonOptions {
  readonly workspace?: string;
  readonly json?: boolean;
}

interface UserOptions extends CommonOptions {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly password?: string;
  readonly workspace?: string;
}

interface PlanOptions extends CommonOptions {
  readonly perMinute?: number;
  readonly perDay?: number;
}

export const configOption = ['-c, --config <file>', 'file (default: QZ_CONFIG)'] as const;
export const workspaceOption = ['-w, --workspace <id>', 'workspace (default: the first)'] as const;
const jsonOption = ['--json', 'print JSON for scripts'] as const;
const passwordOption = ['-p, --password <text>', 'default: one is made and shown once'] as const;

const formOf = ({ json }: ListOptions): 'json' | 'text' => (json === true ? 'json' : 'text');

/** Beside `keys create`. */
export function addKeyCommands(keys: Command, print: Print): void {
  keys
    .command('list')
    .description('list the API keys without their secrets')
    .option('-w, --workspace <id>', 'workspace (default: all)')
    .option(...jsonOption)
    .option(...configOption)
    .action((options: ListOptions) =>
      print(options, (services) => {
        const { workspace: id } = options;
        const workspace = id === undefined ? undefined : people.workspaceOf(services, id);
        return people.tableText(people.listKeys(services, workspace), formOf(options));
      }),
    );
  keys
    .command('revoke')
    .description('refuse a key from its next request on')
    .argument('<id>', 'key')
    .option(...configOption)
    .action((id: string, options: CommonOptions) =>
      print(options, (services) => people.revokeKey(services, id)),
    );
  keys
    .command('rotate-signing')
    .description('sign new keys with a new secret; keys that exist stay valid')
    .option(...configOption)
    .action((options: CommonOptions) => print(options, people.rotateSigning));
}

export function addUserCommands(users: Command, print: Print): void {
  users
    .command('create')
    .description('make a user who is a member of a workspace')
    .requiredOption('-e, --email <address>', 'to sign in with')
    .requiredOption('-n, --name <name>', 'how others see them')
    .addOption(new Option('-r, --role <role>', 'what they may do').choices(roles).default('editor'))
    .option(...passwordOption)
    .option(...workspaceOption)
    .option(...configOption)
    .action((options: UserOptions) =>
      print(options, (services) => people.createUser(services, options)),
    );
  users
    .command('reset-password')
    .description('give a user another password and end their sessions')
    .requiredOption('-e, --email <address>', 'whose')
    .option(...passwordOption)
    .option(...configOption)
    .action((options: UserOptions) =>
      print(options, (services) => people.resetPassword(services, options)),
    );
}

export function addWorkspaceCommands(workspaces: Command, print: Print): void {
  workspaces
    .command('list')
    .description('list the workspaces')
    .option(...jsonOption)
    .option(...configOption)
    .action((options: ListOptions) =>
      print(options, (services) =>
        people.tableText(people.listWorkspaces(services), formOf(options)),
      ),
    );
  workspaces
    .command('set-plan')
    .description('change plan and, for enterprise, limits; they hold from the next request')
    .argument('<id>', 'workspace')
    .addArgument(new Argument('<plan>', 'plan').choices(plans))
    .option('--per-minute <requests>', 'enterprise: requests a minute', wholeNumber)
    .option('--per-day <requests>', 'enterprise: requests a day (default: no cap)', wholeNumber)
    .option(...configOption)
    .action((id: string, plan: Plan, options: PlanOptions) =>
      print(options, (services) => people.setPlan(services, id, plan, options)),
    );
}

/** @throws InvalidArgumentError */
function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from 1.');
}
