/** `quietzone backup`, `restore` and `verify`: arguments and output. */
import type { Command } from 'commander';
import { assertNoEdgeFolder } from '../cluster/nodes/node-folder.ts';
import { openExistingDataFolder, openFolderToRestore } from '../app/folder/data-folder.ts';
import type { BackupSummary } from '../app/folder/backup/backup.ts';
import { serviceAccess, verifyByService } from '../app/commands/folder-commands.ts';
import { withFolderLock } from '../app/folder/folder-lock.ts';
import type { Verification } from '../app/folder/verify/verify.ts';
import { isoTime } from '../model/day.ts';
import { systemClock } from '../platform/system-clock.ts';
import {
  type CommandContext,
  type CommonOptions,
  configOf,
  configOption,
  yieldToService,
} from './command.ts';
import type { PrintedProgress } from './copy-progress.ts';

interface VerifyOptions extends CommonOptions {
  readonly json?: boolean;
}

export function addBackupCommands(program: Command, context: CommandContext): void {
  const withProgress = async (
    work: (progress: PrintedProgress) => Promise<void>,
  ): Promise<void> => {
    const { PrintedProgress } = await import('./copy-progress.ts');
    await work(new PrintedProgress(context.progress, systemClock));
  };
  program
    .command('backup <dir>')
    .description('copy all data to a new folder and check the copy; a service may run')
    .option(...configOption)
    .action((dir: string, options: CommonOptions) =>
      withProgress(async (progress) => {
        const folder = openExistingDataFolder(configOf(context, options).dataDir);
        assertNoEdgeFolder('back up', folder.path);
        yieldToService();
        const createdAt = isoTime(systemClock.now());
        const { backup } = await import('../app/folder/backup/backup.ts');
        const access = await serviceAccess(folder);
        const work = (): Promise<BackupSummary> =>
          backup(folder, dir, { createdAt, progress, access });
        const { path, files, bytes } = await (access === undefined
          ? withFolderLock(folder, 'back up', work)
          : work());
        context.result(`Backed up ${files} files, ${bytes} bytes, to ${path}`);
      }),
    );
  program
    .command('restore <dir>')
    .description('check a backup and put it into an empty data folder')
    .option(...configOption)
    .action((dir: string, options: CommonOptions) =>
      withProgress(async (progress) => {
        const folder = openFolderToRestore(configOf(context, options).dataDir);
        const { restore } = await import('../app/folder/backup/restore.ts');
        const { files, bytes } = await restore(folder, dir, progress);
        context.result(`Restored ${files} files, ${bytes} bytes, into ${folder.path}`);
      }),
    );
  program
    .command('verify')
    .description('read all data and report damage; a service may run')
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
  const { verifyWhole } = await import('../app/folder/verify/verify.ts');
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
  const end = findings.length === 0 ? 'All data read is intact' : 'The data is damaged';
  return [...read, ...notes.map((note) => `note ${note}`), ...faults, end].join('\n');
}
