/** `quietzone repair`: says what is wrong with the data folder and what each remedy gives up; does it with `--yes`. */
import { randomFillSync } from 'node:crypto';
import type { Command } from 'commander';
import { assertRepairable } from '../cluster/nodes/node-folder.ts';
import { openExistingDataFolder } from '../engine/data-folder.ts';
import { faultText } from '../engine/installation/folder-faults.ts';
import { inspectFolder } from '../engine/installation/installation.ts';
import type { RepairStep } from '../engine/installation/repair.ts';
import { lockDataFolder } from '../engine/takeover/folder-lock.ts';
import { systemClock } from '../system-clock.ts';
import { type CommandContext, type CommonOptions, configOf, configOption } from './command.ts';

interface RepairCommandOptions extends CommonOptions {
  readonly yes?: true;
}

export function addRepairCommand(program: Command, context: CommandContext): void {
  program
    .command('repair')
    .description(
      'say what is wrong with the data folder and what a repair gives up; with --yes do it',
    )
    .option('--yes', 'set bad parts aside and begin them anew')
    .option(...configOption)
    .action((options: RepairCommandOptions) => runRepair(context, options));
}

/** With the service stopped: holds the folder's lock. */
async function runRepair(context: CommandContext, options: RepairCommandOptions): Promise<void> {
  const { isRepairable, planRepair, repair } = await import('../engine/installation/repair.ts');
  const folder = openExistingDataFolder(configOf(context, options).dataDir);
  assertRepairable(folder.path);
  const lock = await lockDataFolder(folder, 'repair');
  try {
    const inspection = await inspectFolder(folder, 'start');
    const steps = planRepair(inspection);
    if (steps.length === 0) {
      return context.result(
        `Nothing to repair: a start takes data folder ${folder.path} as it is. \`quietzone verify\` reads every record`,
      );
    }
    context.result(`Data folder ${folder.path} has faults\n${steps.map(textOf).join('\n')}`);
    if (!isRepairable(steps)) return context.fail();
    if (options.yes !== true) {
      context.progress(
        'Nothing was changed. Restore a backup (`quietzone restore`) if there is one; `quietzone repair --yes` does what is said above',
      );
      return context.fail();
    }
    const randomBytes = (bytes: Uint8Array): Uint8Array => randomFillSync(bytes);
    const names = await repair(folder, inspection, { nowMs: systemClock.now(), randomBytes });
    const aside = names.length === 0 ? '' : `; the way back: ${names.join(', ')}`;
    context.result(`Repaired${aside}. Start the service`);
  } finally {
    await lock.unlock();
  }
}

const textOf = (step: RepairStep): string => `  ${faultText(step)}\n    ${step.text}`;
