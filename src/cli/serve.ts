/** `quietzone serve`: the service, until a signal stops it. */
import { type App, openApp } from '../app.ts';
import { createLog, type Logger } from '../telemetry/log.ts';
import { type CommonOptions, configOf, type Process } from './command.ts';
import { version } from './version.ts';
import { welcome } from './welcome.ts';

export async function serve(context: Process, options: CommonOptions): Promise<void> {
  const config = configOf(context, options);
  const log = createLog(config.log.level, process.stderr);
  process.on('unhandledRejection', (err) => {
    log.fatal({ err }, 'a defect: an unhandled rejection');
    process.exit(1);
  });
  const app = await openApp(config, log);
  context.result(welcome(config, app.bootstrapped));
  // Before the log line: a supervisor that waits for it may stop the service at once.
  stopOnSignals(app, log);
  log.info({ version: version(), node: process.version }, 'ready');
}

function stopOnSignals(app: App, log: Logger): void {
  let isStopping = false;
  const stop = (signal: string): void => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, 'stopping: answering what is in flight, counting what was answered');
    app.close().then(
      () => process.exit(0),
      (err: unknown) => {
        log.fatal({ err }, 'cannot stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
