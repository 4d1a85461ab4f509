/** `quietzone backup` and `quietzone restore`: their arguments and what they print. */
import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { isoTime } from '../model/day.ts';
import { systemClock } from '../system-clock.ts';
import { backup } from '../engine/backup.ts';
import type { BackupReport } from '../engine/backup-files.ts';
import { openDataFolder } from '../engine/data-folder.ts';
import { type CommonOptions, configOption } from './people.ts';
import { restore } from '../engine/restore.ts';

export interface Printer {
  /** The result, on standard output. */
  readonly result: (text: string) => void;
  /** Progress, on standard error. */
  readonly progress: (text: string) => void;
}

export function addDataCommands(program: Command, { result, progress }: Printer): void {
  const onFile = (name: string, bytes: number): void => progress(`${name}  ${bytes} bytes`);
  const summary = ({ files, bytes }: BackupReport): string => `${files} files, ${bytes} bytes`;
  program
    .command('backup <dir>')
    .description('copy all data to a new folder, also beside a running service')
    .option(...configOption)
    .action(async (dir: string, options: CommonOptions) => {
      const folder = openDataFolder(loadConfig(options.config).dataDir);
      const report = await backup(folder, dir, isoTime(systemClock.now()), onFile);
      result(`Backed up ${summary(report)}, to ${dir}`);
    });
  program
    .command('restore <dir>')
    .description('put a backup into an empty data folder')
    .option(...configOption)
    .action(async (dir: string, options: CommonOptions) => {
      const folder = openDataFolder(loadConfig(options.config).dataDir);
      const report = await restore(folder, dir, onFile);
      result(`Restored ${summary(report)}, into ${folder.path}`);
    });
}
