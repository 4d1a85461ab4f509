/**
 * The service: opens the modules bottom-up, closes them top-down.
 *
 *   data folder -> stores -> journals recovered -> shards catch up -> links loaded -> dashboard built
 *     -> redirect threads listen -> writers: webhooks, schedulers, API listens
 *
 * Redirects come before the API: printed codes must work first. Stopping goes the other way, and ends
 * when every scan that was answered is in the store.
 *
 * A takeover (`serve --takeover`) boots and loads beside the running service, which then yields: from there on it goes
 * as above. engine/takeover/messages.ts draws the order.
 */
import { resolve } from 'node:path';
import { importedDrafts } from './api/codes/code-bodies.ts';
import type { Billing } from './billing/billing.ts';
import { assertNoNodeFolder, commandRefusal } from './cluster/nodes/node-folder.ts';
import type { CodeDraft } from './codes/code-creation.ts';
import type { Codes } from './codes/codes.ts';
import type { Config } from './config.ts';
import { closeAll, type Closers } from './engine/closers.ts';
import { type DataFolder, openDataFolder } from './engine/data-folder.ts';
import type { FirstSecrets, FirstStart } from './engine/installation/first-start.ts';
import { fitToMemory } from './engine/machine/machine-plan.ts';
import { portsOf } from './engine/service-ports.ts';
import type { PredecessorConnection } from './engine/takeover/predecessor-connection.ts';
import { ServiceFolder, type ServiceStart } from './engine/installation/service-folder.ts';
import { openDashboard } from './http/dashboard/dashboard-cache.ts';
import { DashboardFiles } from './http/dashboard/dashboard-files.ts';
import type { Failure } from './model/failure.ts';
import {
  type Base,
  dataVersions,
  type Machine,
  openBase,
  openBillingModule,
  openCodeModule,
  openFirstStart,
  openWorkspaceModule,
  prepareProcess,
  thisMachine,
} from './modules.ts';
import { type StartedEngine, startEngine, takeOver } from './open-engine.ts';
import { shipped } from './shipped.ts';
import { RunningService } from './takeover-host.ts';
import { createLog, type Logger } from './telemetry/log.ts';
import type { WorkspaceServices } from './workspaces/services.ts';
import { openWriters, type Writers } from './writers.ts';

export interface App {
  /** The ports in use: the configured ones, or those that the system chose for 0. */
  readonly apiPort: number;
  readonly redirectPort: number;
  /** Secrets of the very first start, until they are shown. */
  readonly firstSecrets: FirstSecrets | undefined;
  /** They were shown: no later start shows them again. */
  secretsShown(): void;
  /** Another process has taken over, and this one has answered all: `close` is left to do. */
  readonly takenOver: Promise<void>;
  /** A node of a cluster that cannot go on, for a reason that is logged: `close` is left to do. */
  readonly failed?: Promise<void>;
  /** Ends the service: nothing in flight fails, every answered scan is stored. */
  close(): Promise<void>;
}

export interface AppOptions {
  /** In place of this one's, part by part. */
  readonly machine?: Partial<Machine>;
  /** Whether a first start may be made; default `any`. */
  readonly start?: ServiceStart;
  /** Takes over from the service that runs on the data folder, where one does. */
  readonly takeover?: true | undefined;
  /** What waits for other machines of a cluster ends when it is aborted, with its reason. */
  readonly stopping?: AbortSignal;
  /** Called once that service has accepted: if this process ends before it is open, that one goes on. */
  readonly onPredecessor?: (predecessor: Pick<PredecessorConnection, 'isGone'>) => void;
}

/**
 * What the command line needs of a workspace, beside a running service or without one. In the data folder of a cluster's
 * core it can be read, and every change is refused.
 */
export interface Administration {
  readonly services: WorkspaceServices;
  readonly firstStart: FirstStart;
  /** Its changes reach a running service through the numbered changes of links. */
  readonly codes: Codes;
  /** A row of an import, as the body of a new code, checked. */
  readonly draftOf: (row: unknown) => CodeDraft | Failure;
  /** Without a payment provider: what an operator settles by hand. */
  readonly billing: Billing;
  close(): Promise<void>;
}

export function openAdministration(
  config: Config,
  folder: DataFolder = openDataFolder(config.dataDir),
  machine: Machine = thisMachine,
): Administration {
  const log = createLog(config.log.level, process.stderr);
  const base = openBase(config, folder, log, machine);
  const refusal = commandRefusal(folder.path);
  // Nothing is under way yet.
  if (refusal !== undefined) void base.management.environment.hold(refusal);
  const workspaces = openWorkspaceModule(base);
  return {
    services: workspaces,
    firstStart: openFirstStart(base, workspaces),
    codes: openCodeModule(base, { links: 'remote', scansOf: () => 0 }),
    draftOf: importedDrafts(config.shortUrlBase),
    billing: openBillingModule(base, { workspaces, provider: undefined }),
    async close() {
      await workspaces.close();
      await base.management.close();
    },
  };
}

/** @throws DataFolderError, NodeError, MachineLimitError, ListenError with a text for the operator */
export async function openApp(
  configured: Config,
  log: Logger,
  { machine: given, start = 'any', takeover, onPredecessor }: AppOptions = {},
): Promise<App> {
  const config = fitToMemory(configured);
  const machine = { ...thisMachine, ...given };
  assertNoNodeFolder(resolve(config.dataDir));
  const release = { release: shipped.version, dataVersions };
  const service = await ServiceFolder.open(config.dataDir, start, log, takeover && release);
  const { folder, predecessor } = service;
  if (predecessor !== undefined) onPredecessor?.(predecessor);
  const closers: Closers = [() => service.close()];
  const close = (): Promise<void> => closeAll(closers);
  try {
    const warnings = await prepareProcess(config, folder.path, log, predecessor?.ports);
    await service.make(machine.randomBytes);
    const pages = openDashboard(folder.cacheRoot, log);
    closers.push(async () => void (await pages));
    const base = { ...openBase(config, folder, log, machine), heldPorts: predecessor?.ports };
    closers.push(() => base.management.close());
    let firstSecrets: FirstSecrets | undefined;
    const firstStart = openFirstStart(base);
    const begin = async (): Promise<void> => {
      closers.push(await service.begin(base.management));
      firstSecrets = await firstStart.open();
    };
    const opening = { base, pages, begin, closers };
    const started = await (predecessor === undefined
      ? startEngine(opening)
      : takeOver(opening, predecessor));
    const running = await openService(base, service, started, new DashboardFiles(await pages));
    closers.push(() => running.close());
    // A start that fails says why in one line.
    for (const warning of warnings) log.warn(warning);
    predecessor?.listening();
    const { apiPort, takenOver } = running;
    const redirectPort = started.engine.threads.redirects.port;
    const secretsShown = (): void => firstStart.shown();
    return { apiPort, redirectPort, firstSecrets, secretsShown, takenOver, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Service {
  readonly apiPort: number;
  readonly takenOver: Promise<void>;
  close(): Promise<void>;
}

/** The writers, and what another process may take over. */
async function openService(
  base: Base,
  service: ServiceFolder,
  { engine, refresher, changesFollowed }: StartedEngine,
  dashboard: DashboardFiles,
): Promise<Service> {
  const open = (followed?: () => Promise<number>): Promise<Writers> =>
    openWriters({ base, engine, dashboard, changesFollowed: followed });
  const writers = await open(changesFollowed);
  const { promise: takenOver, resolve: ended } = Promise.withResolvers<void>();
  const ports = portsOf(base.config).map(({ port }) => port);
  const lockAgain = (): Promise<void> => service.lockAgain();
  const running = new RunningService({
    base,
    predecessor: service.predecessor,
    engine,
    refresher,
    ports,
    writers,
    reopen: () => open(),
    lockAgain,
    ended,
  });
  service.hostTakeovers(running, base.clock);
  return { apiPort: writers.apiPort, takenOver, close: () => running.stop() };
}
