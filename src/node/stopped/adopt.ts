/**
 * `quietzone cluster adopt`: the data of a machine alone becomes that of a new cluster, and its folder that of the first core.
 *
 *   checks ─▶ adopt.json {preparing} ─▶ folder made ready ─▶ {leading} ─▶ CORE and DELIVERY begin with this data
 *     ─▶ this machine leads, registers itself, publishes its keys: cluster.json ─▶ (no adopt.json)
 *
 * Run again, it goes on where it was cut short. Until the logs begin with this data it can be taken back: what was made
 * ready is nothing that a machine alone minds.
 *
 * Journals of the time alone keep their numbers, which the cluster does not give out: no node owns them, each core counts
 * what it has of them, and they are deleted when they are counted. A folder that was restored from a core's backup has
 * rows of its former cluster, which are removed; numbers that were given out there stay so.
 */
import { randomBytes } from 'node:crypto';
import { beginLog, beginningOf, lastIn, LogBegunError } from '../../cluster/log-beginning.ts';
import { EnvironmentStore } from '../../cluster/log/environment-store.ts';
import { chainBytes } from '../../cluster/log/entry.ts';
import { type LogName, logNames, streamOf } from '../../cluster/nats/log-streams.ts';
import { NodeError } from '../../cluster/nodes/node-error.ts';
import { type NodeIdentity, readNodeFile } from '../../cluster/nodes/node-file.ts';
import { scanStream } from '../../cluster/scans/scan-channels.ts';
import { takeAsWhole } from '../../cluster/scans/whole-journals.ts';
import { type DataFolder, openFolderToAdopt } from '../../engine/data-folder.ts';
import {
  type Adoption,
  readAdoption,
  removeAdoption,
  writeAdoption,
} from '../../engine/unfinished.ts';
import { raise, raiseNumbers } from '../../engine/installation/numbers.ts';
import { listJournals } from '../../scans/journal/segments.ts';
import { openDeliveryTables } from '../../store/delivery/delivery.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import { openManagement, type Management } from '../../store/management/management.ts';
import { lowestWatermarks, openScanStore, type ScanStore } from '../../store/scans/scans.ts';
import { createLog } from '../../telemetry/log.ts';
import type { NodeContext } from '../context.ts';
import { joinAsCore } from '../join-as-core.ts';
import { type StoppedNodeOptions, withBrokers, withStoppedFolder } from './stopped-node.ts';

const formerTables = ['cluster_identity', 'cluster_nodes', 'cluster_secrets'] as const;

/** @returns what the folder is from here on @throws NodeError, DataFolderError with a text for the operator */
export async function adopt(options: StoppedNodeOptions): Promise<NodeIdentity> {
  const folder = openFolderToAdopt(options.config.dataDir);
  const known = readNodeFile(folder.path);
  if (known !== undefined && readAdoption(folder.path) === undefined) {
    throw new NodeError(
      `Cannot adopt data folder ${folder.path}: it is of ${known.name}, a node of a cluster already (cluster.json)`,
    );
  }
  return await withStoppedFolder(folder, 'adopt', async () => {
    if (known !== undefined) return finish(folder, known);
    return await withBrokers(options, 'adopt', (context) => move(folder, context, options));
  });
}

async function move(
  folder: DataFolder,
  context: NodeContext,
  { say }: StoppedNodeOptions,
): Promise<NodeIdentity> {
  let adoption = readAdoption(folder.path);
  if (adoption === undefined) {
    await assertNoCluster(context);
    adoption = { state: 'preparing', core: newName(), delivery: newName() };
    writeAdoption(folder.path, adoption);
  } else {
    say('An adoption of this folder was cut short: it goes on');
  }
  if (adoption.state === 'preparing') {
    await prepare(folder, adoption, say);
    adoption = { ...adoption, state: 'leading' };
    writeAdoption(folder.path, adoption);
  }
  await beginLogs(folder, context);
  say('The logs of the cluster begin with this data');
  return finish(folder, await joinAsCore(context, folder));
}

const newName = (): string => randomBytes(chainBytes).toString('base64');

/** @throws NodeError */
async function assertNoCluster({ connection }: NodeContext): Promise<void> {
  const streams = [...logNames.map(streamOf), scanStream];
  for (const stream of streams) {
    if ((await lastIn(connection, stream)) === 0) continue;
    throw new NodeError(
      `Cannot adopt: the stream ${stream} of the brokers has entries, so there is a cluster already, expected none. ` +
        'To join it, start this machine with an empty data folder. Where it is what is left of a cluster that nobody ' +
        `needs any more, delete the streams ${streams.join(', ')}, and try again`,
    );
  }
}

interface Stores {
  readonly management: Management;
  readonly scans: ScanStore;
  readonly delivery: ReturnType<typeof openDeliveryTables>;
}

/** Changes that a machine alone does not mind. May be done again. */
async function prepare(
  folder: DataFolder,
  adoption: Adoption,
  say: StoppedNodeOptions['say'],
): Promise<void> {
  await withStores(folder, async (stores) => {
    const { management, scans, delivery } = stores;
    const log = createLog('silent');
    // As each start of a machine alone does: the log keeps what is given out from here on.
    raiseNumbers(stores, log);
    const journals = [...lowestWatermarks(scans).keys(), ...listJournals(folder.journalRoot)];
    raise(management, log, { journal: Math.max(0, ...journals) });
    removeFormerCluster(stores);
    await placeAs(management.environment, adoption.core);
    await placeAs(delivery.environment, adoption.delivery);
  });
  await takeAsWhole(folder);
  say('The data is ready for a cluster');
}

function removeFormerCluster({ management: { environment }, scans }: Stores): void {
  environment.transactionSync(() => {
    for (const name of formerTables) environment.clear(name);
  });
  const read = scans.environment.table<string, unknown>('cluster');
  // How far it had read a log of scans that is gone.
  scans.environment.transactionSync(() => read.remove('scans'));
}

/** What is here gets a name that no other data has, as if that had been applied. */
async function placeAs(environment: StoreEnvironment, name: string): Promise<void> {
  const chain = Uint8Array.from(Buffer.from(name, 'base64'));
  if (chain.length !== chainBytes) {
    throw new NodeError('Cannot adopt: adopt.json is damaged; run the command with --undo first');
  }
  await new EnvironmentStore(environment).place({ seq: 0, epoch: 0, n: 0, chain, before: chain });
}

async function beginLogs(folder: DataFolder, context: NodeContext): Promise<void> {
  const { config, connection, self: leader } = context;
  const { replicas } = config.cluster;
  await withStores(folder, async ({ management, delivery }) => {
    const environments = { core: management.environment, delivery: delivery.environment };
    for (const name of logNames) {
      const environment = environments[name];
      if (new EnvironmentStore(environment).position().seq > 0) continue;
      try {
        await beginLog({ connection, name, replicas, environment, leader });
      } catch (error) {
        if (!(error instanceof LogBegunError)) throw error;
        throw new NodeError(
          `Cannot adopt: ${error.message}, which have begun a cluster meanwhile; ` +
            'run the command with --undo, and this folder is that of a machine alone again',
        );
      }
    }
  });
}

function finish({ path }: DataFolder, identity: NodeIdentity): NodeIdentity {
  removeAdoption(path);
  return identity;
}

/** The folder is that of a machine alone again, as long as no log begins with its data. @throws NodeError, DataFolderError */
export async function undoAdoption(options: StoppedNodeOptions): Promise<void> {
  const folder = openFolderToAdopt(options.config.dataDir);
  const adoption = readAdoption(folder.path);
  if (adoption === undefined) {
    throw new NodeError(
      `Cannot undo: data folder ${folder.path} has no unfinished adoption (adopt.json)`,
    );
  }
  await withStoppedFolder(folder, 'undo', async () => {
    if (adoption.state === 'leading') {
      await withBrokers(options, 'undo', (context) => assertNotBegun(folder, context));
    }
    await withStores(folder, async ({ management, delivery }) => {
      await new EnvironmentStore(management.environment).clear();
      await new EnvironmentStore(delivery.environment).clear();
    });
    removeAdoption(folder.path);
  });
}

/** @throws NodeError */
async function assertNotBegun(folder: DataFolder, { connection }: NodeContext): Promise<void> {
  const isBegun = async (name: LogName, environment: StoreEnvironment): Promise<boolean> => {
    const position = new EnvironmentStore(environment).position();
    return (
      position.seq > 0 || typeof (await beginningOf({ connection, name }, position)) === 'object'
    );
  };
  await withStores(folder, async ({ management, delivery }) => {
    const hasBegun =
      (await isBegun('core', management.environment)) ||
      (await isBegun('delivery', delivery.environment));
    if (!hasBegun) return;
    throw new NodeError(
      'Cannot undo: a log of the cluster begins with this data; run `quietzone cluster adopt` again, which finishes it. ' +
        'The way back is then a backup: `quietzone backup`, and `quietzone restore` into an empty folder of a machine alone',
    );
  });
}

async function withStores(
  { managementFile, scansFile, deliveryFile }: DataFolder,
  work: (stores: Stores) => Promise<void>,
): Promise<void> {
  const management = openManagement(managementFile);
  const scans = openScanStore(scansFile);
  const delivery = openDeliveryTables(deliveryFile);
  try {
    await work({ management, scans, delivery });
  } finally {
    await delivery.environment.close();
    await scans.environment.close();
    await management.close();
  }
}
