/**
 * A core of a cluster: the service with its data replicated, and one of two roles beside (core-role.ts).
 *
 *   data folder -> [first start: the node joins, the cluster's keys come] -> stores -> journals recovered, links loaded
 *     -> redirect threads listen -> scans go to the other cores, theirs come -> the log is followed -> standby, or leading
 *
 * A first start waits for brokers as long as it takes, and so does one on another machine, or after a boot: it may be a copy
 * (claim-start.ts). Else a core that comes back while they are away redirects, and counts what it journals. One with more
 * redirect threads than journals asks for some first.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { administrationOf } from '../administration/administration.ts';
import { commandTable } from '../administration/operations.ts';
import type { App, AppOptions } from '../app.ts';
import { ClusterKeys } from '../cluster/nodes/cluster-keys.ts';
import {
  checkNodeFile,
  type NodeIdentity,
  readNodeFile,
  writeNodeFile,
} from '../cluster/nodes/node-file.ts';
import { beginStart, noteRunning } from '../cluster/nodes/start-record.ts';
import type { Config } from '../config.ts';
import { folderCommands } from '../engine/commands/folder-commands.ts';
import { type Closers, openWithClosers } from '../engine/closers.ts';
import { DataFolderError } from '../engine/data-folder.ts';
import type { FirstSecrets, FirstStart } from '../engine/installation/first-start.ts';
import { ServiceFolder } from '../engine/installation/service-folder.ts';
import { fitToMemory } from '../engine/machine/machine-plan.ts';
import { raiseBlocks } from '../engine/installation/numbers.ts';
import { portsOf } from '../engine/start-checks.ts';
import { DashboardFiles } from '../http/dashboard/dashboard-files.ts';
import {
  type Base,
  type Machine,
  openBase,
  openFirstStart,
  prepareProcess,
  thisMachine,
} from '../modules.ts';
import { startEngine } from '../open-engine.ts';
import type { Logger } from '../telemetry/log.ts';
import { shipped } from '../shipped.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type Engine, openServices, type Services } from '../services.ts';
import { claim } from './claim-start.ts';
import { connectNode, type NodeContext } from './context.ts';
import { CoreNode } from './core-node.ts';
import { CoreRole, type OpenRole } from './core-role.ts';
import { FatalStop } from './fatal-stop.ts';
import { joinAsCore } from './join-as-core.ts';
import { startLinkUpkeep } from './link-upkeep.ts';
import { updateSigningKeys } from './signing-rotation.ts';
import { openStandby } from './standby.ts';
import { assertNoTakeover, noTakeovers } from './takeover.ts';

/** Of a core that leads no more: attempts in flight may end within this. The next leader waits, so slow receivers do not count. */
const attemptsMsMax = 500;
/** The same: it stores the results that there are, on however busy a machine, unless the log is away. */
const resultsMsMax = 5_000;
/** A first start waits so long for a new cluster to have its first sign-in. */
const firstLeadMsMax = 30_000;
const firstLeadStepMs = 20;

interface CoreOpening {
  readonly config: Config;
  readonly log: Logger;
  readonly machine: Machine;
  readonly service: ServiceFolder;
  readonly closers: Closers;
  readonly stopping: AbortSignal | undefined;
}

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
    const service = await ServiceFolder.open(config.dataDir, start, log, noTakeovers);
    closers.push(() => service.close());
    await service.take();
    const machine = { ...thisMachine, ...given };
    return await open({ config, log, machine, service, closers, stopping });
  });
}

async function open(opening: CoreOpening): Promise<Omit<App, 'close'>> {
  const { config, log, machine, service, closers, stopping } = opening;
  const { folder } = service;
  const warnings = await prepareProcess(config, folder.path);
  const context = connectNode(config, log, machine, stopping);
  closers.push(() => context.connection.close());
  const isFirstStart = readNodeFile(folder.path) === undefined;
  const identity = await identify(opening, context);
  closers.push(noteRunning(folder.path, context));
  await service.make(machine.randomBytes);
  const heldPorts = portsOf(config).map(({ port }) => port);
  const base = { ...openBase(config, folder, log, machine), heldPorts };
  closers.push(() => base.management.close());
  const keys = new ClusterKeys(config.cluster.secret);
  updateSigningKeys({ store: base.management, folder: folder.path, keys });
  await service.begin(base.management, raiseBlocks);
  const stop = new FatalStop(log);
  const node = new CoreNode({
    context,
    base,
    identity,
    onRole: () => void role.update(),
    stop,
  });
  closers.push(() => node.close());
  const engine = await startEngine(base, closers, {
    node: (scans) => node.engineNode(scans),
  });
  const upkeep = startLinkUpkeep(engine.links, engine.codes.links, log);
  closers.push(() => upkeep.close());
  const dashboard = new DashboardFiles(shipped.dashboard());
  const roles = new Roles({ base, node, dashboard, engine });
  const role = new CoreRole({
    isLeading: () => node.isLeading,
    lead: () => roles.lead(),
    standBy: () => roles.standBy(),
    goesOn: () => {
      if (!roles.isClosing) engine.threads.cancelStop();
    },
    log,
  });
  // Nothing more is to be written.
  closers.push(() => node.release());
  closers.push(async () => {
    engine.threads.beginStop();
    roles.isClosing = true;
    await role.close();
  });
  // First what stands by: the API's port answers from here on.
  await role.update();
  service.hostTakeovers(noTakeovers, node.commands(folderCommands(service.folder)));
  closers.push(() => service.endCommands());
  await node.follow(engine);
  for (const warning of warnings) log.warn(warning);
  if (isFirstStart) await untilBegun(node, role, base, context.stopping);
  return {
    apiPort: config.api.port,
    redirectPort: engine.threads.redirects.port,
    firstSecrets: roles.firstSecrets,
    secretsShown: () => roles.secretsShown(),
    takenOver: new Promise(() => undefined),
    failed: stop.reported,
  };
}

/** Before anything is looked for that an edge's folder does not have. @throws NodeError */
function assertSameNode({ dataDir, cluster: { nodeName: name, role } }: Config): void {
  const known = readNodeFile(dataDir);
  if (known !== undefined) checkNodeFile(known, { name, role });
}

/** What this node is, by its data folder; on a first start, once the cluster has registered it. */
async function identify({ service }: CoreOpening, context: NodeContext): Promise<NodeIdentity> {
  const { folder } = service;
  const isFirst = await service.beginMaking();
  const known = readNodeFile(folder.path);
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
  await service.inspectAgain();
  return identity;
}

/** Until some node has made the first sign-in of a new cluster: where it is this one, it is to be shown. */
async function untilBegun(
  node: CoreNode,
  role: CoreRole,
  { management }: Base,
  stopping: AbortSignal,
): Promise<void> {
  for (let waitedMs = 0; waitedMs < firstLeadMsMax; waitedMs += firstLeadStepMs) {
    const [owner] = management.users.keys({ limit: 1 });
    if (stopping.aborted) return;
    if (owner !== undefined && (!node.isLeading || role.name === 'leading')) break;
    await pause(firstLeadStepMs);
  }
  // While what stood by closes, it may still take a request, and cut it off.
  await role.update();
}

interface RolesOptions {
  readonly base: Base;
  readonly node: CoreNode;
  readonly engine: Engine;
  readonly dashboard: DashboardFiles;
}

/** Opens what belongs to a role. */
class Roles {
  readonly #options: RolesOptions;
  #closing: Promise<void> = Promise.resolve();
  #firstStart: FirstStart | undefined;
  #services: Pick<Services, 'endDeliveries'> | undefined;
  firstSecrets: FirstSecrets | undefined;
  /** The process stops: a role that closes does not go on as another one. */
  isClosing = false;

  constructor(options: RolesOptions) {
    this.#options = options;
  }

  secretsShown(): void {
    this.#firstStart?.shown();
  }

  async lead(): Promise<OpenRole> {
    const { base, engine, node, dashboard } = this.#options;
    // What it last opened in this role may still be closing.
    await this.#closing;
    await node.delivery.lead();
    await engine.refresher.refresh();
    this.#firstStart = openFirstStart(base);
    this.firstSecrets = await this.#firstStart.open();
    const feed = node.openFeed(engine);
    const cluster = node.answersWith(feed);
    try {
      const services = await openServices({ base, engine, dashboard, cluster });
      this.#services = services;
      return {
        close: () => {
          // Its answers are endless, or long: the API would wait for them.
          feed.close();
          void node.copies.cut();
          const closed = services.close();
          this.#closing = closed.catch(() => undefined);
          return closed;
        },
      };
    } catch (error) {
      feed.close();
      throw error;
    }
  }

  async standBy(): Promise<OpenRole> {
    const { base, engine, node } = this.#options;
    const leader = (): { readonly url: string } | undefined => node.leader;
    const registerMetrics = (metrics: Metrics): void => node.registerMetrics(metrics);
    const { proof, checks } = node;
    await this.#giveDeliveriesAway();
    const feed = node.openFeed(engine);
    const first = node.firstAnswers(feed);
    const isStopping = (): boolean => this.isClosing;
    const standby = { base, engine, leader, proof, first, checks, isStopping, registerMetrics };
    const role = await openStandby(standby).catch((error: unknown) => {
      feed.close();
      throw error;
    });
    const endFollowing = node.followSettled(engine);
    return {
      close: async () => {
        feed.close();
        await endFollowing();
        await role.close();
      },
    };
  }

  /**
   * Before what led closes: the leader of the cluster waits for it. What was sent and is not stored would be sent again there,
   * so it is stored first, unless the lead of that log is lost too.
   */
  async #giveDeliveriesAway(): Promise<void> {
    const { delivery } = this.#options.node;
    const services = this.#services;
    this.#services = undefined;
    if (services !== undefined && delivery.replication.isHeld) {
      const ended = services.endDeliveries(attemptsMsMax).catch(() => undefined);
      await Promise.race([ended, pause(resultsMsMax, undefined, { ref: false })]);
    }
    delivery.release();
  }
}
