/** `quietzone verify`: its arguments and what it prints. */
import type { Command } from 'commander';
import { assertNoEdgeFolder } from '../cluster/nodes/node-folder.ts';
import { openExistingDataFolder } from '../engine/data-folder.ts';
import { openDataFiles } from '../engine/opening/data-files-opening.ts';
import type { Verification } from '../engine/verify/verify.ts';
import { systemClock } from '../system-clock.ts';
import {
  type CommandContext,
  type CommonOptions,
  configOf,
  configOption,
  yieldToService,
} from './command.ts';

interface VerifyCommandOptions extends CommonOptions {
  readonly json?: boolean;
}

export function addVerifyCommand(program: Command, context: CommandContext): void {
  program
    .command('verify')
    .description('read all data and say what is damaged, also beside a running service')
    .option('--json', 'print JSON for scripts')
    .option(...configOption)
    .action(async (options: VerifyCommandOptions) => {
      const folder = openExistingDataFolder(configOf(context, options).dataDir);
      assertNoEdgeFolder('verify', folder.path);
      yieldToService();
      const { PrintedProgress } = await import('./copy-progress.ts');
      const { partFindings, verifyFolder } = await import('../engine/verify/verify.ts');
      const files = await openDataFiles(folder, 'read');
      const progress = new PrintedProgress(context, systemClock);
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
        progress.stop();
      }
    });
}

function textOf({ files, findings, notes }: Verification): string {
  const read = files.map(
    ({ name, bytes, records }) => `${name}  ${bytes} bytes, ${records} records`,
  );
  const faults = findings.map(({ file, text, remedy }) => `BAD  ${file}: ${text}; ${remedy}`);
  const end = findings.length === 0 ? 'Everything that was read is sound' : 'The data is damaged';
  return [...read, ...notes.map((note) => `note ${note}`), ...faults, end].join('\n');
}
