/** What `quietzone demo` does: makes the demo where it is not there, then serves it beside a receiver for its webhooks. */
import { loadConfig } from '../../config.ts';
import { DataFolderError } from '../../engine/data-folder.ts';
import { assertPortsFree } from '../../engine/start-checks.ts';
import { shipped } from '../../shipped.ts';
import { systemClock } from '../../system-clock.ts';
import { createLog } from '../../telemetry/log.ts';
import type { Process } from '../command.ts';
import { buildDemo } from './build-demo.ts';
import { type DemoMark, readDemo } from './demo-folder.ts';
import { DemoProgress } from './demo-progress.ts';
import { demoSettings } from './demo-settings.ts';
import { openReceiver, receiverPort } from './receiver.ts';
import { colleagues } from './workspace.ts';

export interface DemoCommandOptions {
  readonly dir: string;
  /** In place of the one that is there. */
  readonly again?: true;
  /** The one that is there is served. */
  readonly existing?: true;
  readonly serve: boolean;
  readonly seed?: number;
}

/** @throws DataFolderError, ConfigError, ListenError */
export async function runDemo(context: Process, options: DemoCommandOptions): Promise<void> {
  const { dir, serve: isServed } = options;
  const settings = { environment: context.environment, folder: dir };
  // Before the work, not after it.
  if (isServed) await assertPortsFree(loadConfig(undefined, demoSettings(settings)));
  const mark = options.existing ? existingDemo(dir) : await makeDemo(context, options);
  if (!isServed) {
    context.result(`${signIn(mark)}  Serve it       ${servingCommand(dir)}\n`);
    return;
  }
  const receiver = await openReceiver(mark.receiverPort);
  if (receiver.port !== mark.receiverPort) {
    context.progress(`Port ${mark.receiverPort} is taken: webhooks of the demo fail`);
  }
  const { serve } = await import('../serve.ts');
  const demoContext = { ...context, environment: demoSettings(settings) };
  await serve(demoContext, { existing: true, start: servingCommand(dir) });
  context.result(signIn(mark));
}

const servingCommand = (dir: string): string => `${shipped.command} demo --existing --dir ${dir}`;

function existingDemo(folder: string): DemoMark {
  const mark = readDemo(folder);
  if (mark?.complete === true) return mark;
  const state = mark === undefined ? 'has no demo' : 'has a demo that was not finished';
  throw new DataFolderError(
    `Cannot serve a demo: ${folder} ${state}; \`${shipped.command} demo\` makes one`,
  );
}

async function makeDemo(context: Process, options: DemoCommandOptions): Promise<DemoMark> {
  const { dir, again, seed } = options;
  const { environment } = context;
  const startedMs = systemClock.monotonicMs();
  const demo = await buildDemo({
    folder: dir,
    over: again ? 'make anew' : 'refuse',
    environment,
    clock: systemClock,
    log: createLog('error', { write: (line) => context.progress(line.trimEnd()) }),
    progress: new DemoProgress(context),
    receiverPort,
    ...(seed !== undefined && { seed }),
  });
  const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 1_000);
  const scans = demo.scans.toLocaleString('en');
  context.result(`Made ${demo.codes} codes with ${scans} scans in ${dir}, in ${seconds} s`);
  return demo;
}

function signIn({ email, password }: DemoMark): string {
  const others = colleagues.map((one) => `${one.email} (${one.role})`).join(', ');
  return [
    '',
    `  Sign in        ${email}`,
    `  Password       ${password}`,
    '',
    `  The same password is that of ${others}.`,
    '',
  ].join('\n');
}
