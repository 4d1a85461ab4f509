/**
 * The commands, their texts and exit codes. A command loads its own modules when it runs: the service starts without the
 * modules that copy and verify, and `version` without the service.
 *
 *   0  done        1  failed (the reason on standard error)        2  bad configuration or usage
 */
import { Command, CommanderError, Option } from 'commander';
import { NodeError } from '../cluster/nodes/node-error.ts';
import { ConfigError } from '../platform/config/config.ts';
import { systemReason } from '../app/folder/system-reason.ts';
import { DataFolderError } from '../app/folder/data-folder.ts';
import { MachineLimitError } from '../app/machine/machine-limits.ts';
import { ListenError } from '../platform/uws/port.ts';
import { Failure, isDamage, systemErrorCode } from '../model/failure.ts';
import { shipped } from '../platform/shipped.ts';
import { DataFileError } from '../store/damage.ts';
import { addBackupCommands } from './backup.ts';
import {
  type CommandContext,
  type CommonOptions,
  configOf,
  configOption,
  type Process,
} from './command.ts';
import { addClusterCommands, roleOption } from './cluster/command.ts';
import type { DemoCommandOptions } from './demo/run-demo.ts';
import { addHealthCommand } from './health.ts';
import { addImportCommand } from './import/command.ts';
import { addKeyCommands } from './keys.ts';
import type { ReloadOptions } from './reload.ts';
import type { ServeOptions } from './serve.ts';
import { addUserCommands } from './users.ts';
import { nativesText, versionText } from './version.ts';
import { addBillingCommands, addWorkspaceCommands, wholeNumber } from './workspaces.ts';

const exitFailed = 1;
const exitUsage = 2;

/**
 * Runs `quietzone <args>`. Without a command the service runs: then this resolves when it is ready.
 * @returns the exit code
 */
export async function run(args: readonly string[], process: Process): Promise<number> {
  let isFailed = false;
  const program = commands({ ...process, fail: () => void (isFailed = true) });
  const [word] = args;
  const isKnown = program.commands.some((command) => command.name() === word) || word === 'help';
  try {
    // Commander would pass an unknown word to `serve` as an argument.
    if (word !== undefined && !word.startsWith('-') && !isKnown) {
      program.error(`error: unknown command '${word}'`);
    }
    await program.parseAsync(args, { from: 'user' });
    return isFailed ? exitFailed : 0;
  } catch (error) {
    return explain(error, process);
  }
}

/** Prints the reason on standard error; returns the exit code. */
function explain(error: unknown, { progress }: Process): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitUsage;
  if (error instanceof ConfigError) {
    progress(error.message);
    return exitUsage;
  }
  const isExpected =
    error instanceof DataFolderError ||
    error instanceof NodeError ||
    error instanceof MachineLimitError ||
    error instanceof DataFileError ||
    error instanceof ListenError ||
    error instanceof Failure;
  if (isForbiddenFile(error)) {
    progress(`Cannot use ${error.path}: ${systemReason(error)}; expected a file of this user`);
    return exitFailed;
  }
  const defect = error instanceof Error ? error.stack : undefined;
  const more = isDamage(error) ? '; run `quietzone verify` for details' : '';
  const faults = error instanceof Failure ? faultLines(error) : [];
  const text = error instanceof Error && isExpected ? error.message + more : defect;
  progress([text ?? String(error), ...faults].join('\n'));
  return exitFailed;
}

/** The faults of an input that its message omits. */
const faultLines = ({ message, faults }: Failure): string[] =>
  faults
    .filter((fault) => fault.message !== message)
    .map((fault) => `  ${fault.path}: ${fault.message}`);

/** For example after another user has run a command in the data folder. */
function isForbiddenFile(error: unknown): error is Error & { readonly path: string } {
  const isRefused = ['EACCES', 'EPERM', 'EROFS'].includes(systemErrorCode(error));
  return isRefused && error instanceof Error && 'path' in error && typeof error.path === 'string';
}

function commands(context: CommandContext): Command {
  const program = new Command('quietzone')
    .description('Dynamic QR codes on one machine: redirects, counts, webhooks.')
    .version(versionText(shipped), '-V, --version', 'print the version')
    .exitOverride()
    .showHelpAfterError('(quietzone --help lists the commands)')
    .configureHelp({ sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => context.result(text.trimEnd()),
      writeErr: (text) => context.progress(text.trimEnd()),
    });
  program
    .command('serve', { isDefault: true })
    .description('run the service (default)')
    .option(
      '--existing',
      'refuse a first start, in case the disk of the data folder is not mounted',
    )
    .addOption(
      new Option(
        '--begin-anew <part>',
        'if scans.mdb is lost without a backup: set the old file aside and start without statistics',
      ).choices(['scans']),
    )
    .option('--takeover', 'replace the running service of the data folder without a gap')
    .addOption(roleOption())
    .addOption(new Option('--ready-on <descriptor>').argParser(Number).hideHelp())
    .option(...configOption)
    .action(async (options: ServeOptions) => {
      const { serve } = await import('./serve.ts');
      await serve(context, options);
    });
  program
    .command('reload')
    .description('replace the running service with a new process, and wait until it serves')
    .option('--timeout <seconds>', 'give up after this time', wholeNumber, 60)
    .option(...configOption)
    .action(async (options: ReloadOptions) => {
      const { reload } = await import('./reload.ts');
      const fault = await reload(context, options);
      if (fault === undefined) return;
      context.progress(fault);
      context.fail();
    });
  addDemoCommand(program, context);
  addKeyCommands(program, context);
  addUserCommands(program, context);
  addWorkspaceCommands(program, context);
  addBillingCommands(program, context);
  addBackupCommands(program, context);
  addImportCommand(program, context);
  program
    .command('doctor')
    .description('check configuration, data folder, ports, limits of the machine and geo data')
    .option(...configOption)
    .action(async (options: CommonOptions) => {
      const { diagnose } = await import('./doctor.ts');
      const { text, ok } = await diagnose(configOf(context, options));
      context.result(text);
      if (!ok) context.fail();
    });
  addClusterCommands(program, context);
  addHealthCommand(program, context);
  addVersionCommands(program, context);
  return program;
}

function addVersionCommands(program: Command, context: CommandContext): void {
  program
    .command('version')
    .description('print the version')
    .option('--verbose', 'also list the built-in native files with their SHA-256')
    .action(({ verbose }: { readonly verbose?: true }) => {
      const natives = verbose === true ? nativesText(shipped.natives()) : [];
      context.result([versionText(shipped), ...natives].join('\n'));
    });
  program
    .command('licenses')
    .description('print the licenses of all built-in packages')
    .action(() => context.result(shipped.licenses()));
  if (shipped.runtimeFolder === undefined) return;
  // config/release/boot.ts runs it before this program; here for --help.
  program
    .command('unpack [folder]')
    .description(
      'write the files of this program for all users; default /usr/lib/quietzone/runtime',
    );
}

function addDemoCommand(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description('create and serve sample data: 60 codes of a restaurant chain, 90 days of scans')
    .option('--dir <folder>', 'folder only for the demo', 'demo')
    .option('--again', 'replace an existing demo; its changes are lost')
    .addOption(new Option('--existing', 'serve the existing demo').conflicts('again'))
    .option('--no-serve', 'only create it')
    .action(async (options: DemoCommandOptions) => {
      const { runDemo } = await import('./demo/run-demo.ts');
      await runDemo(context, options);
    });
}
