/** `quietzone backup` and `quietzone restore`: their arguments and what they print. */
import type { Command } from 'commander';
import { backup } from '../engine/backup.ts';
import type { BackupSummary } from '../engine/backup-files.ts';
import { openDataFolder, openExistingDataFolder } from '../engine/data-folder.ts';
import { restore } from '../engine/restore.ts';
import { isoTime } from '../model/day.ts';
import { systemClock } from '../system-clock.ts';
import { type CommandContext, type CommonOptions, configOf, configOption } from './command.ts';

export function addBackupCommands(program: Command, context: CommandContext): void {
  const onFile = (name: string, bytes: number): void => context.progress(`${name}  ${bytes} bytes`);
  const text = ({ files, bytes }: BackupSummary): string => `${files} files, ${bytes} bytes`;
  program
    .command('backup <dir>')
    .description('copy all data to a new folder, also beside a running service')
    .option(...configOption)
    .action(async (dir: string, options: CommonOptions) => {
      const folder = openExistingDataFolder(configOf(context, options).dataDir);
      const summary = await backup(folder, dir, isoTime(systemClock.now()), onFile);
      context.result(`Backed up ${text(summary)}, to ${dir}`);
    });
  program
    .command('restore <dir>')
    .description('put a backup into an empty data folder')
    .option(...configOption)
    .action(async (dir: string, options: CommonOptions) => {
      const folder = openDataFolder(configOf(context, options).dataDir);
      const summary = await restore(folder, dir, onFile);
      context.result(`Restored ${text(summary)}, into ${folder.path}`);
    });
}
