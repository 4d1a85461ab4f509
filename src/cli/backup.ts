/** `quietzone backup`, `restore` and `verify`: their arguments and what they print. */
import type { Command } from 'commander';
import { assertNoEdgeFolder } from '../cluster/nodes/node-folder.ts';
import { openExistingDataFolder, openFolderToRestore } from '../engine/data-folder.ts';
import type { BackupSummary } from '../engine/backup/backup.ts';
import { serviceAccess, verifyByService } from '../engine/commands/folder-commands.ts';
import { withFolderLock } from '../engine/takeover/folder-lock.ts';
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
    await work(new PrintedProgress(context.progress, systemClock));
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
        const access = await serviceAccess(folder);
        const work = (): Promise<BackupSummary> =>
          backup(folder, dir, { createdAt, progress, damaged, access });
        const summary = await (access === undefined
          ? withFolderLock(folder, 'back up', work)
          : work());
        end('Backed up', summary, `to ${summary.path}`);
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
  const { verifyWhole } = await import('../engine/verify/verify.ts');
  const found =
    (await verifyByService(folder, progress)) ??
    (await withFolderLock(folder, 'verify', () => verifyWhole(folder, progress)));
  context.result(options.json === true ? JSON.stringify(found) : textOf(found));
  if (found.findings.length > 0) context.fail();
}

function textOf({ files, findings, notes }: Verification): string {
  const read = files.map(
    ({ name, bytes, records }) => `${name}  ${bytes} bytes, ${records} records`,
  );
  const faults = findings.map(({ file, text, remedy }) => `BAD  ${file}: ${text}; ${remedy}`);
  const end = findings.length === 0 ? 'Everything that was read is sound' : 'The data is damaged';
  return [...read, ...notes.map((note) => `note ${note}`), ...faults, end].join('\n');
}
