/** Shared by the commands: their process, common options, and access to the service. */
import { constants, setPriority } from 'node:os';
import { resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import type { Command } from 'commander';
import { assertNoEdgeFolder } from '../cluster/nodes/node-folder.ts';
import { type Config, loadConfig } from '../platform/config/config.ts';
import type { Environment } from '../platform/config/environment.ts';
import { type Ask, type Fill, Session } from './session.ts';

/** The process of a command; a test passes its own. */
export interface Process {
  /** Prints a result, on standard output. */
  readonly result: (text: string) => void;
  /** Prints a result; resolves when a reader can have it. @throws Error without a reader */
  readonly show: (text: string) => Promise<void>;
  /** Prints progress and reasons, on standard error. */
  readonly progress: (text: string) => void;
  readonly environment: Environment;
}

export interface CommandContext extends Process {
  /** The command ends with exit code 1, without a further message. */
  readonly fail: () => void;
}

export interface CommonOptions {
  readonly config?: string;
}

export interface ListOptions extends CommonOptions {
  readonly workspace?: string;
  readonly json?: boolean;
}

export const configOption = ['-c, --config <file>', 'file (default: QZ_CONFIG)'] as const;
export const workspaceOption = ['-w, --workspace <id>', 'workspace (default: the first)'] as const;

/** Takes this machine's cluster role from an option instead of a setting. */
export function withRole(context: Process, { role }: { readonly role?: string }): Process {
  if (role === undefined) return context;
  return { ...context, environment: { ...context.environment, QZ_CLUSTER_ROLE: role } };
}

/** @throws ConfigError */
export function configOf(context: Process, options: CommonOptions): Config {
  return loadConfig(options.config, context.environment);
}

/** Asks the running service, or opens the data folder if none runs; always closes it. */
export async function administer(
  context: Process,
  options: CommonOptions,
  work: (ask: Ask) => Promise<void>,
  fill?: Fill,
): Promise<void> {
  const config = configOf(context, options);
  assertNoEdgeFolder('open', resolve(config.dataDir));
  const opened = new Session(config, fill);
  try {
    await work((name, input) => opened.ask(name, input));
  } finally {
    await opened.close();
  }
}

/** Gives a running service the processor first. */
export function yieldToService(): void {
  // On Linux, priority belongs to a thread; a test's thread could not raise it again.
  if (!isMainThread) return;
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Not allowed here: the command works without it.
  }
}

/** Adds the command `list`, whose rows are aligned columns, or JSON for scripts. */
export function addListCommand(
  parent: Command,
  context: CommandContext,
  description: string,
  rowsOf: (ask: Ask, options: ListOptions) => Promise<object[]>,
): Command {
  return parent
    .command('list')
    .description(description)
    .option('--json', 'print JSON for scripts')
    .option(...configOption)
    .action((options: ListOptions) =>
      administer(context, options, async (ask) => {
        const rows = await rowsOf(ask, options);
        context.result(options.json === true ? JSON.stringify(rows) : tableText(rows));
      }),
    );
}

/** Objects as aligned columns. */
export function tableText(rows: readonly object[]): string {
  const [first] = rows;
  if (first === undefined) return 'none';
  const names = Object.keys(first);
  const cells = [
    names,
    ...rows.map((row) => Object.values(row).map((cell) => (cell === null ? '-' : String(cell)))),
  ];
  const widths = names.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  return cells
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}
