/**
 * The service: opens the modules bottom-up, closes them top-down.
 *
 *   data folder -> stores -> journals recovered -> shards catch up -> links loaded
 *     -> redirect threads listen -> services: webhooks, schedulers, API listens
 *
 * Redirects come before the API: printed codes must work first. A stop reverses the order, and ends when every answered scan
 * is in the store. A takeover (`serve --takeover`) boots while the old service runs (app/upgrade/messages.ts).
 */
import { administrationOf } from './administration/administration.ts';
import { commandTable } from './administration/operations.ts';
import type { Config } from '../platform/config/config.ts';
import { folderCommands } from './commands/folder-commands.ts';
import { openWithClosers } from '../platform/closers.ts';
import type { FirstSecrets } from './folder/first-start.ts';
import { fitToMemory } from './machine/machine-plan.ts';
import type { PredecessorConnection } from './upgrade/predecessor-connection.ts';
import { ServiceFolder, type ServiceStart } from './folder/service-folder.ts';
import {
  dataVersions,
  type Machine,
  openBase,
  openFirstStart,
  prepareProcess,
  thisMachine,
} from './modules.ts';
import { startEngine } from './open-engine.ts';
import { shipped } from '../platform/shipped.ts';
import { RunningService } from './running-service.ts';
import type { Logger } from '../platform/log.ts';

export interface App {
  /** The ports in use: the configured ones, or the system's choice for 0. */
  readonly apiPort: number;
  readonly redirectPort: number;
  /** Of the first start, until they have been shown. */
  readonly firstSecrets: FirstSecrets | undefined;
  secretsShown(): void;
  /** Resolves when another process has taken over, and this one has answered everything. Then call `close`. */
  readonly takenOver: Promise<void>;
  /** Resolves when the service cannot continue; the log has the reason. Then call `close`. */
  readonly failed?: Promise<void>;
  /** Ends the service: nothing in flight fails, every answered scan is stored. */
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
  const release = { release: shipped.version, dataVersions };
  return await openWithClosers(async (closers) => {
    const service = await ServiceFolder.open(config.dataDir, start, log, release, takeover);
    closers.push(() => service.close());
    const { folder, predecessor } = service;
    if (predecessor === undefined) await service.take();
    else onPredecessor?.(predecessor);
    const warnings = await prepareProcess(config, folder.path, predecessor?.accepted.ports);
    // The predecessor continues if this process cannot start.
    if (predecessor !== undefined) await service.take();
    await service.make(machine.randomBytes);
    const base = {
      ...openBase(config, folder, log, machine),
      heldPorts: predecessor?.accepted.ports,
    };
    closers.push(() => base.management.close());
    const firstStart = openFirstStart(base);
    await service.begin(base.management);
    const firstSecrets = await firstStart.open();
    const engine = await startEngine(base, closers, { predecessor });
    const running = await RunningService.open({ base, engine, service });
    closers.push(() => running.stop());
    const administration = administrationOf(base, engine.codes);
    closers.push(() => administration.services.close());
    service.hostTakeovers(running, {
      ...folderCommands(folder),
      ...commandTable(administration),
    });
    closers.push(() => service.endCommands());
    // Not earlier: a start that fails prints one line.
    for (const warning of warnings) log.warn(warning);
    const { apiPort, takenOver, abandoned: failed } = running;
    const redirectPort = engine.threads.redirects.port;
    const secretsShown = (): void => firstStart.shown();
    return { apiPort, redirectPort, firstSecrets, secretsShown, takenOver, failed };
  });
}
