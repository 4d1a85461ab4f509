/**
 * A core of a cluster: the service with its data replicated, in one of two roles (leader-lifecycle.ts).
 *
 *   data folder -> [first start: the node joins, the cluster's keys come] -> stores -> journals recovered, links loaded
 *     -> redirect threads listen -> scans go to the other cores, theirs come -> the log is followed -> standby, or leading
 *
 * A first start waits for brokers as long as it takes, and so does a start on another machine or after a boot: the folder may be
 * a copy (claim-start.ts). Any other start redirects while brokers are away, and counts what it journals.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { administrationOf } from '../../app/administration/administration.ts';
import { commandsOf } from '../../app/administration/operations.ts';
import type { App, AppOptions } from '../../app/app.ts';
import { ClusterKeys } from '../nodes/cluster-keys.ts';
import {
  checkNodeFile,
  type NodeIdentity,
  readNodeFile,
  writeNodeFile,
} from '../nodes/node-file.ts';
import { beginStart, noteRunning } from '../nodes/start-record.ts';
import type { Config } from '../../platform/config/config.ts';
import { folderCommands } from '../../app/commands/folder-commands.ts';
import { closeAll, type Closers, openWithClosers } from '../../platform/closers.ts';
import { type DataFolder, DataFolderError } from '../../app/folder/data-folder.ts';
import { type ExaminedFolder, ServiceFolder } from '../../app/folder/service-folder.ts';
import { fitToMemory } from '../../app/machine/machine-plan.ts';
import { raiseBlocks } from '../../app/folder/numbers.ts';
import { portsOf, examineMachine } from '../../app/machine/start-checks.ts';
import { openBase, openWorkspaceModule, thisMachine } from '../../app/modules.ts';
import { startEngine } from '../../app/open-engine.ts';
import type { Logger } from '../../platform/log.ts';
import { claim } from './claim-start.ts';
import { connectNode, type NodeContext } from './context.ts';
import { openControl } from './core-control.ts';
import { follow, type FollowingCore, openFollowing, release } from './core-following.ts';
import { engineNode, openCoreNode } from './core-node.ts';
import { CoreRoles } from './core-roles.ts';
import { joinAsCore } from './join-as-core.ts';
import { LeaderLifecycle } from './leader-lifecycle.ts';
import { updateSigningKeys } from './signing-rotation.ts';
import { assertNoTakeover, noTakeovers } from './takeover.ts';

/** A first start waits so long for a new cluster to have its first sign-in. */
const firstLeadMsMax = 30_000;
const firstLeadStepMs = 20;

/** @throws DataFolderError, NodeError, MachineLimitError, ListenError with a text for the operator */
export async function openCore(
  configured: Config,
  log: Logger,
  { machine: given, start = 'any', takeover, stopping }: AppOptions = {},
): Promise<App> {
  assertNoTakeover(takeover);
  const config = fitToMemory(configured);
  assertSameNode(config);
  return await openWithClosers(async (closers) => {
    const { dataDir } = config;
    const service = await ServiceFolder.lock({ dataDir, start, hello: noTakeovers, log });
    closers.push(() => service.close());
    const warnings = await examineMachine(config, service.folder.path);
    const examined = await service.examine();
    const context = connectNode(config, log, { ...thisMachine, ...given }, stopping);
    closers.push(() => context.connection.close());
    const app = await open(context, service, examined, closers);
    for (const warning of warnings) log.warn(warning);
    return app;
  });
}

async function open(
  context: NodeContext,
  service: ServiceFolder,
  examined: ExaminedFolder,
  closers: Closers,
): Promise<Omit<App, 'close'>> {
  const { config, log, machine } = context;
  const { folder } = service;
  const known = readNodeFile(folder.path);
  const identity = await identify(context, folder, examined, known);
  closers.push(noteRunning(folder.path, context));
  await examined.make(machine.randomBytes);
  const heldPorts = portsOf(config).map(({ port }) => port);
  const base = openBase({ ...machine, config, folder, log, heldPorts });
  closers.push(() => base.management.close());
  const keys = new ClusterKeys(config.cluster.secret);
  updateSigningKeys({ store: base.management, folder: folder.path, keys });
  await examined.begin(base.management, raiseBlocks);
  const onRole = (): void => void lifecycle.update();
  const following: Closers = [];
  closers.push(() => closeAll(following));
  const node = openCoreNode({ context, base, identity }, onRole, following);
  const engine = await startEngine(base, closers, undefined, (scans) => engineNode(node, scans));
  const core = await openFollowing(node, engine, following, closers);
  const workspaces = openWorkspaceModule(base);
  const administration = administrationOf(base, engine.codes, workspaces);
  const control = openControl(core, commandsOf(administration));
  const roles = new CoreRoles(core, control, workspaces);
  const lifecycle: LeaderLifecycle = new LeaderLifecycle({
    isLeading: () => node.replication.isLeading,
    lead: () => roles.lead(),
    standBy: () => roles.standBy(() => lifecycle.isClosed),
    onChanged: () => engine.threads.cancelStop(),
    log,
  });
  // Runs when the role has closed: no writes follow.
  closers.push(() => release(core));
  closers.push(async () => {
    engine.threads.beginStop();
    await lifecycle.close();
  });
  // A standby first: the API's port answers from here on.
  await lifecycle.update();
  closers.push(() => workspaces.close());
  service.hostTakeovers(noTakeovers, { ...folderCommands(service.folder), ...control.commands });
  closers.push(() => service.endCommands());
  follow(core, following);
  if (known === undefined) await untilBegun(core, lifecycle);
  return {
    apiPort: config.api.port,
    redirectPort: engine.threads.redirects.port,
    firstSecrets: roles.firstSecrets,
    secretsShown: () => roles.secretsShown(),
    takenOver: new Promise(() => undefined),
    failed: context.failed,
  };
}

/** Call it before the folder is inspected: an edge's folder lacks parts. @throws NodeError */
function assertSameNode({ dataDir, cluster: { nodeName: name, role } }: Config): void {
  const known = readNodeFile(dataDir);
  if (known !== undefined) checkNodeFile(known, { name, role });
}

/** What this node is: by its data folder, or on a first start as the cluster registers it. @param known of the data folder */
async function identify(
  context: NodeContext,
  folder: DataFolder,
  examined: ExaminedFolder,
  known: NodeIdentity | undefined,
): Promise<NodeIdentity> {
  const isFirst = await examined.beginMaking();
  const isLastHere = beginStart(folder.path, context.config.cluster.nodeName, context);
  if (known !== undefined) {
    const admitted = await claim(context, known, isLastHere);
    if (admitted === undefined) return known;
    const { journals } = admitted;
    const identity = { ...known, role: context.config.cluster.role, journals };
    writeNodeFile(folder.path, identity);
    return identity;
  }
  if (!isFirst) {
    throw new DataFolderError(
      `Cannot start: data folder ${folder.path} has the data of a machine alone, expected an empty one for a node of a cluster`,
    );
  }
  const identity = await joinAsCore(context, folder);
  await examined.inspectAgain();
  return identity;
}

/** Until some node has made the first sign-in of a new cluster. If it is this one, the sign-in is shown. */
async function untilBegun(core: FollowingCore, lifecycle: LeaderLifecycle): Promise<void> {
  const { base, context, replication } = core;
  for (let waitedMs = 0; waitedMs < firstLeadMsMax; waitedMs += firstLeadStepMs) {
    const [owner] = base.management.users.keys({ limit: 1 });
    if (context.stopping.aborted) return;
    if (owner !== undefined && (!replication.isLeading || lifecycle.role === 'leading')) break;
    await pause(firstLeadStepMs);
  }
  // While the standby closes, it may still take a request, and cut it off.
  await lifecycle.update();
}
