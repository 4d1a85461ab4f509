/** `quietzone backup`, `restore` and `verify`: their arguments and what they print. */
import type { Command } from 'commander';
import { assertNoEdgeFolder } from '../cluster/nodes/node-folder.ts';
import { openExistingDataFolder, openFolderToRestore } from '../engine/data-folder.ts';
import { openDataFiles } from '../engine/opening/data-files-opening.ts';
import type { Verification } from '../engine/verify/verify.ts';
import { isoTime } from '../model/day.ts';
import { systemClock } from '../system-clock.ts';
import {
  type CommandContext,
  type CommonOptions,
  configOf,
  configOption,
  yieldToService,
} from './command.ts';
import type { PrintedProgress } from './copy-progress.ts';

interface CopyOptions extends CommonOptions {
  readonly keepDamaged?: true;
}

interface VerifyOptions extends CommonOptions {
  readonly json?: boolean;
}

interface Summary {
  readonly files: number;
  readonly bytes: number;
  readonly damage: readonly string[];
}

export function addBackupCommands(program: Command, context: CommandContext): void {
  const end = (text: string, { files, bytes, damage }: Summary, where: string): void => {
    context.result(`${text} ${files} files, ${bytes} bytes, ${where}`);
    if (damage.length === 0) return;
    context.progress(`Its data is damaged:\n${damage.map((line) => `  ${line}`).join('\n')}`);
    context.fail();
  };
  const withProgress = async (
    work: (progress: PrintedProgress) => Promise<void>,
  ): Promise<void> => {
    const { PrintedProgress } = await import('./copy-progress.ts');
    const progress = new PrintedProgress(context, systemClock);
    try {
      await work(progress);
    } finally {
      progress.stop();
    }
  };
  program
    .command('backup <dir>')
    .description('copy all data to a new folder, also while a service runs, and check the copy')
    .option('--keep-damaged', 'copy damaged data, too, to <dir>.damaged, and exit with 1')
    .option(...configOption)
    .action((dir: string, options: CopyOptions) =>
      withProgress(async (progress) => {
        const folder = openExistingDataFolder(configOf(context, options).dataDir);
        assertNoEdgeFolder('back up', folder.path);
        yieldToService();
        const createdAt = isoTime(systemClock.now());
        const damaged = options.keepDamaged && 'keep';
        const { backup } = await import('../engine/backup/backup.ts');
        const files = await openDataFiles(folder, 'read');
        try {
          const summary = await backup(folder, dir, { createdAt, progress, damaged });
          end('Backed up', summary, `to ${summary.path}`);
        } finally {
          await files.close();
        }
      }),
    );
  program
    .command('restore <dir>')
    .description('check a backup and put it into an empty data folder')
    .option('--keep-damaged', 'take a backup of damaged data as it is, and exit with 1')
    .option(...configOption)
    .action((dir: string, options: CopyOptions) =>
      withProgress(async (progress) => {
        const folder = openFolderToRestore(configOf(context, options).dataDir);
        const damaged = options.keepDamaged && 'keep';
        const { restore } = await import('../engine/backup/restore.ts');
        const summary = await restore(folder, dir, { progress, damaged });
        end('Restored', summary, `into ${folder.path}`);
      }),
    );
  program
    .command('verify')
    .description('read all data and say what is damaged, also while a service runs')
    .option('--json', 'print JSON for scripts')
    .option(...configOption)
    .action((options: VerifyOptions) =>
      withProgress((progress) => verify(context, options, progress)),
    );
}

async function verify(
  context: CommandContext,
  options: VerifyOptions,
  progress: PrintedProgress,
): Promise<void> {
  const folder = openExistingDataFolder(configOf(context, options).dataDir);
  assertNoEdgeFolder('verify', folder.path);
  yieldToService();
  const { partFindings, verifyFolder } = await import('../engine/verify/verify.ts');
  const files = await openDataFiles(folder, 'read');
  try {
    const read = await verifyFolder(folder, {
      onBegin: (bytes) => progress.begin(bytes),
      onBytes: (bytes) => progress.add(bytes),
    });
    progress.stop();
    const parts = await partFindings(folder, read.findings);
    const found = { ...read, findings: [...read.findings, ...parts] };
    context.result(options.json === true ? JSON.stringify(found) : textOf(found));
    if (found.findings.length > 0) context.fail();
  } finally {
    await files.close();
  }
}

function textOf({ files, findings, notes }: Verification): string {
  const read = files.map(
    ({ name, bytes, records }) => `${name}  ${bytes} bytes, ${records} records`,
  );
  const faults = findings.map(({ file, text, remedy }) => `BAD  ${file}: ${text}; ${remedy}`);
  const end = findings.length === 0 ? 'Everything that was read is sound' : 'The data is damaged';
  return [...read, ...notes.map((note) => `note ${note}`), ...faults, end].join('\n');
}
