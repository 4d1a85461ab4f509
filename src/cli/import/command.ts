/** `quietzone import`: its arguments, and the stores it opens. */
import { type Command, Option } from 'commander';
import { systemClock } from '../../system-clock.ts';
import { importFile, type ImportRequest } from './import-file.ts';
import { importFormats } from './source.ts';
import {
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
  workspaceOption,
} from '../command.ts';

interface ImportOptions extends CommonOptions {
  readonly workspace?: string;
  readonly format: ImportRequest['format'];
  readonly dryRun?: true;
  readonly errors?: string;
  readonly domain?: string;
}

export function addImportCommand(program: Command, context: CommandContext): void {
  program
    .command('import <file>')
    .description('make codes of a file of links, also beside a running service; resumable')
    .addOption(
      new Option('-f, --format <format>', 'what wrote the file')
        .choices(importFormats)
        .default('auto'),
    )
    .option('--dry-run', 'change nothing: say what would fail')
    .option('--errors <file>', 'write every failed row to this CSV file')
    .option('--domain <host>', 'only links of this old domain')
    .option(...workspaceOption)
    .option(...configOption)
    .action(async (file: string, options: ImportOptions) => {
      const { dryRun, ...rest } = options;
      await administer(context, options, async (administration) => {
        const request = { ...rest, file, isDryRun: dryRun === true };
        const isWhole = await importFile(administration, request, context, systemClock);
        if (!isWhole) context.fail();
      });
    });
}
