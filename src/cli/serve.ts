/** `quietzone serve`: the service, until a signal stops it. */
import { closeSync, writeSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, openApp } from '../app.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../telemetry/log.ts';
import { shipped } from '../shipped.ts';
import { openServiceLog } from '../telemetry/service-log.ts';
import { type CommonOptions, configOf, type Process } from './command.ts';
import { startCommand, welcome } from './welcome.ts';

/** A standard output whose reader stalls holds up nothing: what is shown later is shown. */
const greetMsMax = 5_000;

export interface ServeOptions extends CommonOptions {
  /** No first start. */
  readonly existing?: true;
  /** In the place of the running service, where there is one. */
  readonly takeover?: true;
  /** A descriptor on which to say that this process serves (reload.ts). */
  readonly readyOn?: number;
}

export async function serve(context: Process, options: ServeOptions): Promise<void> {
  const config = configOf(context, options);
  const { log, adopt } = openServiceLog(config.log.level);
  process.on('unhandledRejection', (err) => {
    log.fatal({ err }, 'a defect: an unhandled rejection');
    process.exit(1);
  });
  const { existing, takeover, readyOn } = options;
  const opening = openApp(config, log, { start: existing ? 'existing' : 'any', takeover });
  stopOnSignals(opening, log);
  const app = await opening;
  if (readyOn !== undefined) sayReady(readyOn);
  adopt();
  await Promise.race([
    greet(context, config, app, log),
    pause(greetMsMax, undefined, { ref: false }),
  ]);
  log.info({ version: shipped.version, commit: shipped.commit, node: process.version }, 'ready');
}

function sayReady(descriptor: number): void {
  try {
    writeSync(descriptor, '\n');
    closeSync(descriptor);
  } catch {
    // Nobody waits for it any more.
  }
}

async function greet(context: Process, config: Config, app: App, log: Logger): Promise<void> {
  const { firstSecrets } = app;
  try {
    const start = startCommand(shipped, process.argv0);
    await context.show(welcome(config, firstSecrets, networkInterfaces(), start));
    if (firstSecrets !== undefined) app.secretsShown();
  } catch (error) {
    if (firstSecrets === undefined) return;
    const reason = error instanceof Error ? error.message : String(error);
    log.warn(
      { reason },
      'nobody could see the first sign-in and key on standard output: the next start shows them',
    );
  }
}

/** A terminal that closes sends SIGHUP; what repeats itself changes nothing: the drain has a bound of its own. */
const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * In all, below systemd's 20 s: each part of a stop has a bound, and this is for what has none, such as a disk that
 * never answers. What is not counted then is in the journals.
 */
const stopMsMax = 15_000;

/**
 * A signal, or a process that has taken over, stops the service.
 * @param opening a service that is still starting stops once it has: its redirects may be under way
 */
function stopOnSignals(opening: Promise<App>, log: Logger): void {
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    // Not unref'd: Node would exit with 0 where nothing is left but a promise that never settles.
    setTimeout(() => {
      log.fatal('the stop took too long: scans that are not counted are counted at the next start');
      process.exit(1);
    }, stopMsMax);
    opening
      .then((app) => app.close())
      .then(
        () => process.exit(0),
        (err: unknown) => {
          log.error({ err }, 'stopped, but not cleanly');
          process.exit(1);
        },
      );
  };
  for (const one of stopSignals) {
    process.on(one, (signal) => {
      if (isStopping) return;
      log.info({ signal }, 'stopping: answering what is in flight, counting what was answered');
      stop();
    });
  }
  opening.then((app) => app.takenOver).then(stop, () => undefined);
}
