/** `quietzone import`: its arguments, and a possible first start. */
import { type Command, Option } from 'commander';
import type { OpenAdministration } from '../../app/administration/administration.ts';
import { vendorFormats } from '../../product/codes/bulk/vendor-exports.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { ImportRequest } from './import-file.ts';
import {
  administer,
  type CommandContext,
  type CommonOptions,
  configOption,
  workspaceOption,
} from '../command.ts';
import { firstOwner } from '../welcome.ts';

interface ImportOptions extends CommonOptions {
  readonly workspace?: string;
  readonly format: ImportRequest['format'];
  readonly dryRun?: true;
  readonly errors?: string;
  readonly domain?: string;
}

/** An import may be the first start of a data folder: it makes the first workspace. */
async function startFirst(
  { firstStart }: OpenAdministration,
  context: CommandContext,
): Promise<void> {
  const first = await firstStart.open();
  if (first === undefined) return;
  await context.show(firstOwner(first));
  firstStart.shown();
}

export function addImportCommand(program: Command, context: CommandContext): void {
  program
    .command('import <file>')
    .description('import a file of links as codes; resumable, a service may run')
    .addOption(
      new Option('-f, --format <format>', 'the tool that wrote the file')
        .choices(['auto', 'csv', 'ndjson', ...vendorFormats])
        .default('auto'),
    )
    .option('--dry-run', 'change nothing and report what would fail')
    .option('--errors <file>', 'write every failed row to this CSV file')
    .option('--domain <host>', 'only links of this old domain')
    .option(...workspaceOption)
    .option(...configOption)
    .action(async (file: string, options: ImportOptions) => {
      const { dryRun, ...rest } = options;
      const isDryRun = dryRun === true;
      const { importFile } = await import('./import-file.ts');
      const request = { ...rest, file, isDryRun };
      await administer(
        context,
        options,
        async (ask) => {
          if (!(await importFile(ask, request, context, systemClock))) context.fail();
        },
        isDryRun ? undefined : (administration) => startFirst(administration, context),
      );
    });
}
