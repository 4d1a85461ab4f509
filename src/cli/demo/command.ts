/** `quietzone demo`: a service with the data of a chain of restaurants, to look at before a first code is made. */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { CommandContext } from '../command.ts';
import { wholeNumber } from '../whole-number.ts';
import type { DemoCommandOptions } from './run-demo.ts';

export function addDemoCommand(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description(
      'make a folder with 60 codes and 90 days of scans of a restaurant chain, and serve it',
    )
    .option('--dir <folder>', 'folder of the demo alone', 'demo')
    .option('--again', 'make it anew where it is there: what was changed in it is lost')
    .addOption(new Option('--existing', 'serve the one that is there').conflicts(['again', 'seed']))
    .option('--no-serve', 'only make it')
    .option('--seed <number>', 'other scans (default: 1)', wholeNumber)
    .action(async ({ dir, ...options }: DemoCommandOptions) => {
      const { runDemo } = await import('./run-demo.ts');
      await runDemo(context, { ...options, dir: resolve(dir) });
    });
}
