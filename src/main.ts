/**
 * The process entry: commands, their texts and exit codes.
 *
 *   0  done        1  failed (the reason on standard error)        2  bad configuration or usage
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import { type Administration, type App, openAdministration, openApp } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { addDataCommands } from './cli/data.ts';
import { addImportCommand } from './cli/import/command.ts';
import { DataFolderError } from './engine/data-folder.ts';
import { diagnose } from './cli/doctor.ts';
import { ListenError } from './http/port.ts';
import { Failure } from './model/failure.ts';
import { roles, type Role } from './model/workspace.ts';
import {
  addKeyCommands,
  addUserCommands,
  addWorkspaceCommands,
  type CommonOptions,
  configOption as config,
  workspaceOption,
} from './cli/people.ts';
import { workspaceOf } from './cli/people-commands.ts';
import type { WorkspaceServices } from './workspaces/services.ts';
import { createLog } from './telemetry/log.ts';
import { firstOwner, welcome } from './cli/welcome.ts';

const exitFailed = 1;
const exitUsage = 2;

const version = (): string => {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  );
  return String(Reflect.get(Object(manifest), 'version'));
};

async function serve(options: CommonOptions): Promise<void> {
  const config = loadConfig(options.config);
  const log = createLog(config.log.level, process.stderr);
  process.on('unhandledRejection', (err) => {
    log.fatal({ err }, 'a defect: an unhandled rejection');
    process.exit(exitFailed);
  });
  const app = await openApp(config, log);
  console.log(welcome(config, app.bootstrapped));
  // Before it is said: whoever waits for it may stop the service at once.
  stopOnSignals(app, log);
  log.info({ version: version(), node: process.version }, 'ready');
}

function stopOnSignals(app: App, log: ReturnType<typeof createLog>): void {
  let isStopping = false;
  const stop = (signal: string): void => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, 'stopping: answering what is in flight, counting what was answered');
    app.close().then(
      () => process.exit(0),
      (err: unknown) => {
        log.fatal({ err }, 'cannot stop cleanly');
        process.exit(exitFailed);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** Opens the stores beside whatever runs, and closes them whatever happens. */
async function administer(
  options: CommonOptions,
  work: (administration: Administration, config: Config) => Promise<void>,
): Promise<void> {
  const config = loadConfig(options.config);
  const administration = openAdministration(config);
  try {
    await work(administration, config);
  } finally {
    await administration.close();
  }
}

async function print(
  options: CommonOptions,
  work: (services: WorkspaceServices) => Promise<string> | string,
): Promise<void> {
  await administer(options, async ({ services }) => console.log(await work(services)));
}

interface KeyOptions extends CommonOptions {
  readonly name: string;
  readonly role: Role;
  readonly workspace?: string;
  readonly json?: boolean;
}

async function createKey(options: KeyOptions): Promise<void> {
  await administer(options, async ({ services }, config) => {
    const first = await services.workspaces.bootstrap(config.bootstrap);
    if (first !== undefined) console.error(firstOwner(first));
    const workspace = workspaceOf(services, options.workspace);
    const owner = services.users.firstOwner(workspace.no);
    if (owner === undefined) throw new Failure('not_found', 'The workspace has no owner');
    const { token, record } = await services.keys.create({
      workspaceNo: workspace.no,
      userId: owner.id,
      name: options.name,
      role: options.role,
    });
    console.log(
      options.json === true
        ? JSON.stringify({ key: token, id: record.id, name: record.name, role: record.role })
        : `API key ${record.id} (${record.role}) of ${workspace.name}, shown once:\n${token}`,
    );
  });
}

async function confirmCheckout(id: string, options: CommonOptions): Promise<void> {
  await administer(options, async ({ billing }) => {
    const { plan, interval } = await billing.confirm(undefined, id, () => undefined);
    console.log(`Checkout ${id} is complete: the plan ${plan}, by the ${interval}, is active`);
  });
}

function commands(): Command {
  const program = new Command('quietzone')
    .description('Dynamic QR codes on one machine: redirects, counts, webhooks.')
    .version(version(), '-V, --version', 'print the version')
    .exitOverride()
    .showHelpAfterError('(quietzone --help lists the commands)')
    .configureHelp({ sortSubcommands: false });
  program
    .command('serve', { isDefault: true })
    .description('run the service (default)')
    .option(...config)
    .action(serve);
  const keys = program.command('keys').description('API keys, also beside a running service');
  keys
    .command('create')
    .description('make an API key; it is shown once')
    .requiredOption('-n, --name <name>', 'what it is for')
    .addOption(new Option('-r, --role <role>', 'what it may do').choices(roles).default('owner'))
    .option(...workspaceOption)
    .option('--json', 'print {"key": "…"} for scripts')
    .option(...config)
    .action(createKey);
  addKeyCommands(keys, print);
  addUserCommands(program.command('users').description('people, also beside a service'), print);
  addWorkspaceCommands(
    program.command('workspaces').description('workspaces, their plans and limits'),
    print,
  );
  program
    .command('billing')
    .description('money, also beside a running service')
    .command('confirm <checkout>')
    .description('settle a checkout of the manual provider: its plan starts')
    .option(...config)
    .action(confirmCheckout);
  const printer = {
    result: (text: string) => console.log(text),
    progress: (text: string) => console.error(text),
  };
  addDataCommands(program, printer);
  const terminal = process.stderr.isTTY ? process.stderr : undefined;
  addImportCommand(program, administer, { ...printer, terminal }, () => {
    process.exitCode = exitFailed;
  });
  program
    .command('doctor')
    .description('check configuration, data folder, ports, memory and geo data')
    .option(...config)
    .action(async (options: CommonOptions) => {
      const { text, ok } = await diagnose(options.config);
      console.log(text);
      process.exitCode = ok ? 0 : exitFailed;
    });
  program
    .command('version')
    .description('print the version')
    .action(() => console.log(version()));
  return program;
}

try {
  await run(commands(), process.argv);
} catch (error) {
  process.exitCode = report(error);
  // A half-opened service may hold threads: the reason is printed, nothing is left to wait for.
  if (!(error instanceof CommanderError)) process.exit();
}

/** Without a command the service runs; a word that is none is a mistake, not an argument of `serve`. */
async function run(program: Command, argv: readonly string[]): Promise<void> {
  const word = argv[2];
  const isKnown = program.commands.some((command) => command.name() === word) || word === 'help';
  if (word !== undefined && !word.startsWith('-') && !isKnown) {
    program.error(`error: unknown command '${word}'`);
  }
  await program.parseAsync(argv);
}

/** Says why on standard error; returns the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitUsage;
  if (error instanceof ConfigError) {
    console.error(error.message);
    return exitUsage;
  }
  const isExpected =
    error instanceof DataFolderError || error instanceof ListenError || error instanceof Failure;
  console.error(isExpected ? error.message : error);
  return exitFailed;
}
