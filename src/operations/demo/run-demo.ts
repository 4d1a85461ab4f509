/** `quietzone demo`: makes the demo if it is missing, then serves it with a receiver for its webhooks. */
import { resolve } from 'node:path';
import { loadConfig } from '../../platform/config/config.ts';
import { DataFolderError } from '../../app/folder/data-folder.ts';
import { assertPortsFree } from '../../app/machine/start-checks.ts';
import { shipped } from '../../platform/shipped.ts';
import { systemClock } from '../../platform/system-clock.ts';
import type { Process } from '../command.ts';
import { buildDemo, type DemoMark, demoSettings, readDemo } from './build-demo.ts';
import { openReceiver } from './receiver.ts';
import { colleagues, owner } from './script.ts';

export interface DemoCommandOptions {
  readonly dir: string;
  readonly again?: true;
  readonly existing?: true;
  readonly serve: boolean;
}

/** @throws DataFolderError, ConfigError, ListenError */
export async function runDemo(
  context: Process,
  { dir, again, existing, serve: isServed }: DemoCommandOptions,
): Promise<void> {
  const folder = resolve(dir);
  const environment = demoSettings(context.environment, folder);
  // Before the work, not after it.
  if (isServed) await assertPortsFree(loadConfig(undefined, environment));
  const mark = existing ? existingDemo(folder) : await makeDemo(context, folder, again === true);
  const start = `${shipped.command} demo --existing --dir ${folder}`;
  if (!isServed) {
    context.result(`${signIn(mark)}  Serve it       ${start}\n`);
    return;
  }
  const receiver = await openReceiver(mark.receiverPort);
  if (receiver.port !== mark.receiverPort) {
    context.progress(`Port ${mark.receiverPort} is taken: webhooks of the demo fail`);
  }
  const { serve } = await import('../serve.ts');
  await serve({ ...context, environment }, { existing: true, start });
  context.result(signIn(mark));
}

function existingDemo(folder: string): DemoMark {
  const mark = readDemo(folder);
  if (mark?.complete === true) return mark;
  const state = mark === undefined ? 'has no demo' : 'has an unfinished demo';
  throw new DataFolderError(
    `Cannot serve a demo: ${folder} ${state}; \`${shipped.command} demo\` makes one`,
  );
}

async function makeDemo(context: Process, folder: string, again: boolean): Promise<DemoMark> {
  const startedMs = systemClock.monotonicMs();
  const demo = await buildDemo(context, folder, again);
  const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 1_000);
  const scans = demo.scans.toLocaleString('en');
  context.result(`Made 60 codes with ${scans} scans in ${folder}, in ${seconds} s`);
  return demo;
}

function signIn({ password }: DemoMark): string {
  const others = colleagues.map(({ email, role }) => `${email} (${role})`).join(', ');
  return `
  Sign in        ${owner}
  Password       ${password}

  Same password for ${others}.
`;
}
