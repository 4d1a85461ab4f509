/** `quietzone import`: its arguments, and the stores it opens. */
import { type Command, Option } from 'commander';
import type { Administration } from '../../app.ts';
import { systemClock } from '../../system-clock.ts';
import { importFile, type ImportRequest } from './import-file.ts';
import type { ImportPrinter } from './report.ts';
import { importFormats } from './source.ts';
import { type CommonOptions, configOption, workspaceOption } from '../people.ts';

interface ImportOptions extends CommonOptions {
  readonly workspace?: string;
  readonly format: ImportRequest['format'];
  readonly dryRun?: true;
  readonly errors?: string;
  readonly domain?: string;
}

/** Opens the stores beside whatever runs, and closes them. */
type Administer = (
  options: CommonOptions,
  work: (administration: Administration) => Promise<void>,
) => Promise<void>;

/** @param fail sets the exit code for rows that failed */
export function addImportCommand(
  program: Command,
  administer: Administer,
  printer: ImportPrinter,
  fail: () => void,
): void {
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
      await administer(options, async (administration) => {
        const request = { ...rest, file, isDryRun: dryRun === true };
        const isWhole = await importFile(administration, request, printer, systemClock);
        if (!isWhole) fail();
      });
    });
}
