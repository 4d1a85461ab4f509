/**
 * The service on one machine. It opens in five steps, and closes in reverse:
 *
 *   lock      the data folder; at a takeover (`serve --takeover`) the running service keeps it until `examine`
 *   examine   the machine, then every part of the folder: a fault stops the start before any change
 *   open      the stores; a first start makes them, and the first sign-in
 *   count     shards count what is journaled while links are loaded; then redirect threads listen
 *   listen    webhooks, schedulers and the API; then commands and successors may ask
 *
 * Redirects come before the API: printed codes must work first. A stop ends when every answered scan is in the store.
 */
import type { Config } from '../platform/config/config.ts';
import { openWithClosers } from '../platform/closers.ts';
import type { Logger } from '../platform/log.ts';
import { shipped } from '../platform/shipped.ts';
import { administrationOf } from './administration/administration.ts';
import { commandTable } from './administration/operations.ts';
import { folderCommands } from './commands/folder-commands.ts';
import type { FirstSecrets } from './folder/first-start.ts';
import { ServiceFolder, type ServiceStart } from './folder/service-folder.ts';
import { fitToMemory } from './machine/machine-plan.ts';
import { examineMachine } from './machine/start-checks.ts';
import {
  dataVersions,
  type Machine,
  openBase,
  openFirstStart,
  openWorkspaceModule,
  thisMachine,
} from './modules.ts';
import { startEngine } from './open-engine.ts';
import { openServices } from './services.ts';
import { RunningService } from './upgrade/running-service.ts';
import type { PredecessorConnection } from './upgrade/predecessor-connection.ts';

export interface App {
  /** The ports in use: the configured ones, or the system's choice for 0. */
  readonly apiPort: number;
  readonly redirectPort: number;
  /** Secrets of the first start, until they have been shown. */
  readonly firstSecrets: FirstSecrets | undefined;
  secretsShown(): void;
  /** Resolves when another process has taken over and this one has answered all requests. Then call `close`. */
  readonly takenOver: Promise<void>;
  /** Resolves when the service cannot continue; the log has the reason. Then call `close`. */
  readonly failed?: Promise<void>;
  /** Ends the service: finishes all requests and stores every answered scan. */
  close(): Promise<void>;
}

export interface AppOptions {
  readonly machine?: Partial<Machine>;
  readonly start?: ServiceStart;
  readonly takeover?: true | undefined;
  /** Aborts waiting for other machines of a cluster, with its reason. */
  readonly stopping?: AbortSignal;
  /** Called once the running service has accepted. If this process ends before it is open, that service continues. */
  readonly onPredecessor?: (predecessor: Pick<PredecessorConnection, 'isGone'>) => void;
}

/** @throws DataFolderError, MachineLimitError, ListenError with a text for the operator */
export async function openApp(
  configured: Config,
  log: Logger,
  { machine: given, start = 'any', takeover, onPredecessor }: AppOptions = {},
): Promise<App> {
  const config = fitToMemory(configured);
  const machine = { ...thisMachine, ...given };
  return await openWithClosers(async (closers) => {
    // Lock.
    const { dataDir } = config;
    const hello = { release: shipped.version, dataVersions };
    const service = await ServiceFolder.lock({ dataDir, start, takeover, hello, log });
    closers.push(() => service.close());
    const { folder, predecessor } = service;
    if (predecessor !== undefined) onPredecessor?.(predecessor);

    // Examine. The machine first: the predecessor continues if this process cannot start.
    const heldPorts = predecessor?.accepted.ports;
    const warnings = await examineMachine(config, folder.path, heldPorts);
    const examined = await service.examine();

    // Open.
    await examined.make(machine.randomBytes);
    const base = openBase({ ...machine, config, folder, log, heldPorts });
    closers.push(() => base.management.close());
    await examined.begin(base.management);
    const workspaces = openWorkspaceModule(base);
    closers.push(() => workspaces.close());
    const firstStart = openFirstStart(base, workspaces);
    const firstSecrets = await firstStart.open();

    // Count.
    const engine = await startEngine(base, closers, predecessor);

    // Listen.
    const services = await openServices({ base, engine });
    const running = new RunningService({ base, engine, service, services });
    closers.push(() => running.stop());
    const operations = commandTable(administrationOf(base, engine.codes, workspaces));
    service.hostTakeovers(running, { ...folderCommands(folder), ...operations });
    closers.push(() => service.endCommands());
    // Not earlier: a failed start prints only one line.
    for (const warning of warnings) log.warn(warning);
    return {
      apiPort: services.apiPort,
      redirectPort: engine.threads.redirects.port,
      firstSecrets,
      secretsShown: () => firstStart.shown(),
      takenOver: running.takenOver,
      failed: running.failed,
    };
  });
}
