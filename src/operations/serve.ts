/** `quietzone serve`: the service, until a signal stops it. */
import { closeSync, writeSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { assertNoNodeFolder } from '../cluster/nodes/node-folder.ts';
import { messageOf } from '../model/failure.ts';
import { type App, openApp } from '../app/app.ts';
import { type Config, ConfigError } from '../platform/config/config.ts';
import type { PredecessorConnection } from '../app/upgrade/predecessor-connection.ts';
import type { Logger } from '../platform/log.ts';
import { shipped } from '../platform/shipped.ts';
import { openServiceLog } from '../platform/service-log.ts';
import { type CommonOptions, configOf, type Process, withRole } from './command.ts';
import { startCommand, welcome } from './welcome.ts';

/** A stalled reader of standard output does not delay the service: the text appears later. */
const greetMsMax = 5_000;

export interface ServeOptions extends CommonOptions {
  readonly existing?: true;
  readonly beginAnew?: 'scans';
  readonly takeover?: true;
  readonly role?: Config['cluster']['role'];
  /** The descriptor for the byte that reports that this process serves (reload.ts). */
  readonly readyOn?: number;
  /** The command that starts it; absent = the service's. */
  readonly start?: string;
}

export async function serve(context: Process, options: ServeOptions): Promise<void> {
  const config = configOf(withRole(context, options), options);
  if (options.beginAnew !== undefined && config.cluster.nats.length > 0) {
    throw new ConfigError(
      'Cannot start: --begin-anew is for a single machine; start this node with an empty folder, it copies the data of the cluster',
    );
  }
  const { log, adopt, flush } = openServiceLog(config.log.level);
  const die = (): void => {
    flush();
    process.kill(process.pid, 'SIGKILL');
  };
  const onDefect = (err: unknown, event: string): void => {
    log.fatal({ err, event }, 'unexpected error, exiting');
    die();
  };
  process.on('unhandledRejection', (err) => onDefect(err, 'unhandledRejection'));
  process.on('uncaughtException', onDefect);
  const { existing, beginAnew, takeover, readyOn } = options;
  const { start = startCommand(shipped, process.argv0) } = options;
  const shutdown = new Shutdown(log, die);
  const open = config.cluster.nats.length === 0 ? openAlone : await nodeOf(config);
  const opening = open(config, log, {
    start: beginAnew === undefined ? (existing ? 'existing' : 'any') : 'scans-anew',
    takeover,
    stopping: shutdown.stopping,
    onPredecessor: (predecessor) => shutdown.takesOverFrom(predecessor),
  });
  shutdown.listen(opening);
  const app = await opening.catch((error: unknown) => shutdown.unlessStopped(error));
  if (app === undefined) return;
  if (readyOn !== undefined) sayReady(readyOn);
  adopt();
  await Promise.race([
    greet(context, { config, app, start }, log),
    pause(greetMsMax, undefined, { ref: false }),
  ]);
  log.info({ version: shipped.version, commit: shipped.commit, node: process.version }, 'ready');
}

/** @throws NodeError in the folder of a node */
const openAlone: typeof openApp = async (config, ...more) => {
  assertNoNodeFolder(resolve(config.dataDir));
  return await openApp(config, ...more);
};

/** Loaded only for a cluster, because it needs more packages. */
async function nodeOf({ cluster }: Config): Promise<typeof openApp> {
  if (cluster.role === 'edge') return (await import('../cluster/roles/edge-node.ts')).openEdgeNode;
  return (await import('../cluster/roles/open-core.ts')).openCore;
}

function sayReady(descriptor: number): void {
  try {
    writeSync(descriptor, '\n');
    closeSync(descriptor);
  } catch {
    // No caller awaits it.
  }
}

interface Greeting {
  readonly config: Config;
  readonly app: App;
  readonly start: string;
}

async function greet(
  context: Process,
  { config, app, start }: Greeting,
  log: Logger,
): Promise<void> {
  const { firstSecrets } = app;
  try {
    await context.show(welcome(config, firstSecrets, networkInterfaces(), start));
    if (firstSecrets !== undefined) app.secretsShown();
  } catch (error) {
    if (firstSecrets === undefined) return;
    const reason = messageOf(error);
    log.warn({ reason }, 'first sign-in and key not shown, the next start shows them');
  }
}

/** A terminal that closes sends SIGHUP. A repeated signal changes nothing: the drain has its own bound. */
const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;

/**
 * The bound of a stop, below systemd's 20 s. Each part has its own bound; this is for cases without one, such as a disk
 * that never answers. The journals keep uncounted scans.
 */
const stopMsMax = 15_000;

/**
 * Stops the service: at a signal, or when another process has taken over.
 *
 * A service that cannot close kills itself. `process.exit` would unmap LMDB's lock under a writing thread, and another
 * process on the same data would wait for that lock forever.
 */
class Shutdown {
  readonly #log: Logger;
  readonly #die: () => void;
  #predecessor: Pick<PredecessorConnection, 'isGone'> | undefined;
  #isOpen = false;
  readonly #stopping = new AbortController();
  #exitCode = 0;

  constructor(log: Logger, die: () => void) {
    this.#log = log;
    this.#die = die;
  }

  /** Aborted when the service must stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** For a start that ended because of a stop. @throws any other error */
  unlessStopped(error: unknown): undefined {
    if (!this.stopping.aborted || error !== this.stopping.reason) throw error;
  }

  /** @param opening a starting service stops after its start, because its redirects may have begun */
  listen(opening: Promise<App>): void {
    for (const one of stopSignals) {
      process.on(one, (signal) => {
        if (this.stopping.aborted) return;
        this.#log.info({ signal }, 'stopping, finishing requests and counting scans');
        this.#stop(opening);
      });
    }
    opening
      .then((app) => {
        this.#isOpen = true;
        return Promise.race([app.takenOver, this.#failed(app)]);
      })
      .then(
        () => this.#stop(opening),
        () => undefined,
      );
  }

  /** Until this process is open, the other one redirects, and continues if this one ends. */
  takesOverFrom(predecessor: Pick<PredecessorConnection, 'isGone'>): void {
    this.#predecessor = predecessor;
    if (this.stopping.aborted) this.#abandon();
  }

  /** Notifies the process's supervisor. */
  async #failed({ failed = new Promise(() => undefined) }: App): Promise<void> {
    await failed;
    this.#exitCode = 1;
  }

  #stop(opening: Promise<App>): void {
    if (this.stopping.aborted) return;
    this.#stopping.abort(new Error('stopped before it served'));
    this.#abandon();
    // Not unref'd: Node exits with 0 if only an unsettled promise is left.
    setTimeout(() => {
      this.#log.fatal('stop timed out, the next start counts the remaining scans');
      this.#die();
    }, stopMsMax);
    opening
      .then(
        (app) => app.close(),
        (error: unknown) => this.unlessStopped(error),
      )
      .then(
        () => process.exit(this.#exitCode),
        (err: unknown) => {
          this.#log.error({ err }, 'stopped with errors');
          process.exit(1);
        },
      );
  }

  #abandon(): void {
    if (this.#isOpen || this.#predecessor === undefined || this.#predecessor.isGone) return;
    this.#log.warn('stopped before serving, the old process continues');
    this.#die();
  }
}
