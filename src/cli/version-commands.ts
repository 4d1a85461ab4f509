/** `quietzone version`, `quietzone licenses` and, in the one file, `quietzone unpack`. */
import type { Command } from 'commander';
import { shipped } from '../shipped.ts';
import type { CommandContext } from './command.ts';
import { nativesText, versionText } from './version.ts';

export function addVersionCommands(program: Command, context: CommandContext): void {
  program
    .command('version')
    .description('print the version')
    .option('--verbose', 'also the native files that are built in, with their SHA-256')
    .action(({ verbose }: { readonly verbose?: true }) => {
      const natives = verbose === true ? nativesText(shipped.natives()) : [];
      context.result([versionText(shipped), ...natives].join('\n'));
    });
  program
    .command('licenses')
    .description('print the licenses of all that is built in')
    .action(() => context.result(shipped.licenses()));
  if (shipped.runtimeFolder === undefined) return;
  // Carried out by config/release/boot.ts before this program runs; here for --help.
  program
    .command('unpack [folder]')
    .description(
      'lay out the files of this program for all users; default /usr/lib/quietzone/runtime',
    );
}
