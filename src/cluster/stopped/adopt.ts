/**
 * `quietzone cluster adopt`: the data of a machine alone becomes that of a new cluster, and its folder that of the first core.
 *
 *   no cluster on the brokers ─▶ data made ready, this core registered in it ─▶ cluster.json ─▶ CORE and DELIVERY begin with it
 *
 * Until cluster.json the folder stays that of a machine alone. Interrupted later, the command runs again and begins the logs.
 *
 * Journals of the machine alone keep their numbers, which the cluster does not give out: no node owns them, each core counts
 * what it has of them, and deletes them once they are counted. Registration replaces the rows of a former cluster, which
 * a restored backup of a core has; the numbers given out there stay used.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beginLog, lastIn, LogBegunError, nameData } from '../log/log-beginning.ts';
import { EnvironmentStore } from '../log/environment-store.ts';
import { logNames, streamOf } from '../nats/log-streams.ts';
import { NodeError } from '../nodes/node-error.ts';
import {
  checkNodeFile,
  type NodeIdentity,
  nodeFileName,
  readNodeFile,
  writeNodeFile,
} from '../nodes/node-file.ts';
import { scanStream } from '../scans/scan-messages.ts';
import { takeAsWhole } from '../scans/received-positions.ts';
import { type DataFolder, openDataFolder } from '../../app/folder/data-folder.ts';
import { raise, raiseNumbers } from '../../app/folder/numbers.ts';
import { listJournals } from '../../engine/journal/segments.ts';
import { lowestWatermarks } from '../../store/scans/scans.ts';
import { createLog } from '../../platform/log.ts';
import { registerFirstCore } from '../roles/begin-cluster.ts';
import type { NodeContext } from '../roles/context.ts';
import {
  type StoppedNodeOptions,
  type Stores,
  withBrokers,
  withStoppedFolder,
  withStores,
} from './stopped-node.ts';

/** @returns the identity of the folder @throws NodeError, DataFolderError with a text for the operator */
export async function adopt(options: StoppedNodeOptions): Promise<NodeIdentity> {
  const { config, say } = options;
  const folder = openDataFolder(config.dataDir);
  return await withStoppedFolder(folder, 'adopt', () =>
    withBrokers(options, 'adopt', async (context) => {
      let identity = readNodeFile(folder.path);
      if (identity === undefined) {
        await assertNoCluster(context);
        identity = await prepare(folder, context);
        writeNodeFile(folder.path, identity);
        say('The data is ready for a cluster');
      } else {
        checkNodeFile(identity, { name: config.cluster.nodeName, role: config.cluster.role });
      }
      await withStores(folder, (stores) => beginLogs(folder, stores, context, identity));
      say('The logs of the cluster begin with this data');
      return identity;
    }),
  );
}

/** @throws NodeError */
async function assertNoCluster({ connection }: NodeContext): Promise<void> {
  const streams = [...logNames.map(streamOf), scanStream];
  for (const stream of streams) {
    if ((await lastIn(connection, stream)) === 0) continue;
    throw new NodeError(
      `Cannot adopt: the stream ${stream} of the brokers has entries, expected none: there is a cluster already. ` +
        'To join it, start this machine with an empty data folder. If you no longer need that cluster, ' +
        `delete the streams ${streams.join(', ')}, and try again`,
    );
  }
}

/** Changes that do not affect a machine alone. May run again. */
async function prepare(folder: DataFolder, context: NodeContext): Promise<NodeIdentity> {
  const { randomBytes } = context.machine;
  const identity = await withStores(folder, async (stores) => {
    const { management, scans, delivery } = stores;
    const log = createLog('silent');
    // As each start of a machine alone does: from here on the log has the numbers that are given out.
    raiseNumbers(stores, log);
    const journals = [...lowestWatermarks(scans).keys(), ...listJournals(folder.journalRoot)];
    raise(management, log, { journal: Math.max(0, ...journals) });
    const read = scans.environment.table<string, unknown>('cluster');
    // How far it had read the former cluster's log of scans.
    scans.environment.transactionSync(() => read.remove('scans'));
    const registered = await registerFirstCore(context, folder, management);
    await nameData(management.environment, randomBytes);
    await nameData(delivery.environment, randomBytes);
    return registered;
  });
  await takeAsWhole(folder);
  return identity;
}

async function beginLogs(
  { path }: DataFolder,
  { management, delivery }: Stores,
  { config, connection, self: leader }: NodeContext,
  { name: node }: NodeIdentity,
): Promise<void> {
  const environments = { core: management.environment, delivery: delivery.environment };
  const { replicas } = config.cluster;
  const isNew = logNames.some(
    (name) => new EnvironmentStore(environments[name]).position().seq === 0,
  );
  if (!isNew) {
    throw new NodeError(
      `Cannot adopt data folder ${path}: it is of ${node}, a node of a cluster already (cluster.json)`,
    );
  }
  for (const name of logNames) {
    try {
      await beginLog({ connection, name, replicas, environment: environments[name], leader });
    } catch (error) {
      if (!(error instanceof LogBegunError)) throw error;
      // Nothing begins with this data: the folder is that of a machine alone.
      if (name === 'core') rmSync(join(path, nodeFileName));
      throw new NodeError(`Cannot adopt: ${error.message}, which began a cluster meanwhile`);
    }
  }
}
