/** What the commands share: their process, their common options, and the stores that they open. */
import { type Administration, openAdministration } from '../app.ts';
import { type Config, type Environment, loadConfig } from '../config.ts';
import { type openDataFolder, openExistingDataFolder } from '../engine/data-folder.ts';
import { Failure } from '../model/failure.ts';
import type { WorkspaceRecord } from '../model/workspace.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';

/** The process of a command; a test hands in its own. */
export interface Process {
  /** Prints a result, on standard output. */
  readonly result: (text: string) => void;
  /** Prints a result; resolves once a reader can have it. @throws Error where none does */
  readonly show: (text: string) => Promise<void>;
  /** Prints progress and reasons, on standard error. */
  readonly progress: (text: string) => void;
  /** Standard error where it is a terminal: it gets the progress bar. */
  readonly terminal: NodeJS.WriteStream | undefined;
  readonly environment: Environment;
}

export interface CommandContext extends Process {
  /** The command ends with exit code 1, without a further message. */
  readonly fail: () => void;
}

export interface CommonOptions {
  readonly config?: string;
}

export const configOption = ['-c, --config <file>', 'file (default: QZ_CONFIG)'] as const;
export const workspaceOption = ['-w, --workspace <id>', 'workspace (default: the first)'] as const;
export const jsonOption = ['--json', 'print JSON for scripts'] as const;

/** @throws ConfigError */
export function configOf(context: Process, options: CommonOptions): Config {
  return loadConfig(options.config, context.environment);
}

/**
 * Opens the stores, beside a running service or without one, and closes them whatever happens.
 * @param open finds the data folder; makes one only where the command's purpose is to fill it
 */
export async function administer(
  context: Process,
  options: CommonOptions,
  work: (administration: Administration, config: Config) => Promise<void> | void,
  open: typeof openDataFolder = openExistingDataFolder,
): Promise<void> {
  const config = configOf(context, options);
  const administration = openAdministration(config, open(config.dataDir));
  try {
    await work(administration, config);
  } finally {
    await administration.close();
  }
}

/** The named workspace, or the first. @throws Failure not_found */
export function workspaceOf(
  { workspaces }: WorkspaceServices,
  id: string | undefined,
): WorkspaceRecord {
  const [first] = workspaces.all();
  const found = id === undefined ? first : workspaces.findById(id);
  if (found !== undefined) return found;
  throw new Failure('not_found', `There is no workspace ${id ?? 'yet: start the service first'}`);
}

/** Objects as aligned columns, or as JSON for scripts. */
export function tableText(rows: readonly object[], { json }: { readonly json?: boolean }): string {
  if (json === true) return JSON.stringify(rows);
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
