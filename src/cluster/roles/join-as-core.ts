/**
 * The first start of a core: it begins a cluster with its own data, or takes the data of another core.
 *
 *   no log     registers itself in its empty data ── the log begins with that (begin-cluster.ts)
 *   a log      registered by the leader ── copies a core and its keys (cluster/copy/)
 *     -> cluster.json -> everything is closed, and opened as after any start
 *
 * Of several cores that start at once, the first in the log begins the cluster; the others copy it. A core registers before
 * it copies, so the brokers keep for it what the copy lacks. An interrupted start runs again: a copy starts over, with a new
 * registration.
 */
import { MachineProof } from '../machine-proof.ts';
import { beginCopying, copyCore, endCopying, isCopying } from '../copy/copy-receiver.ts';
import { emptyChain } from '../log/entry.ts';
import { EnvironmentStore } from '../log/environment-store.ts';
import { answered, beginLog, lastIn, LogBegunError, nameData } from '../log/log-beginning.ts';
import { streamOf } from '../nats/log-streams.ts';
import { ClusterKeys } from '../nodes/cluster-keys.ts';
import { joinCluster } from '../nodes/join.ts';
import type { Admission } from '../nodes/join-message.ts';
import { type NodeIdentity, writeNodeFile } from '../nodes/node-file.ts';
import { type CopyProgress, sizeText } from '../../app/folder/backup/copy-files.ts';
import type { DataFolder } from '../../app/folder/data-folder.ts';
import { openManagement } from '../../store/management/management.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import type { Logger } from '../../platform/log.ts';
import { joinRequestOf, registerFirstCore } from './begin-cluster.ts';
import type { NodeContext } from './context.ts';

/** Between two lines of the log about a copy. */
const lineMs = 5_000;

/**
 * @param folder its management.mdb has a mark and no data, or what an interrupted start left
 * @throws NodeError; DataFolderError where the disk refuses
 */
export async function joinAsCore(context: NodeContext, folder: DataFolder): Promise<NodeIdentity> {
  const first = isCopying(folder) ? undefined : await beginCluster(context, folder);
  if (first !== undefined) {
    writeNodeFile(folder.path, first);
    return first;
  }
  context.log.info('the cluster has data: this core copies that of another one, which must run');
  await beginCopying(folder);
  const admitted = await registration(context);
  await copy(context, folder, admitted);
  const { nodeName: name, role } = context.config.cluster;
  const { cluster, id: node, journals, run } = admitted;
  const identity = { cluster, node, name, role, journals, run };
  writeNodeFile(folder.path, identity);
  await endCopying(folder);
  return identity;
}

/** Waits for brokers as long as it takes. @returns undefined if the log begins with other data */
async function beginCluster(
  context: NodeContext,
  folder: DataFolder,
): Promise<NodeIdentity | undefined> {
  const { config, connection, machine, self: leader, stopping: signal, log } = context;
  const { replicas } = config.cluster;
  const brokers = { connection, timers: systemTimers, log, signal };
  const isBegun = await answered(brokers, () => lastIn(connection, streamOf('core')));
  const store = openManagement(folder.managementFile);
  try {
    const { environment } = store;
    const { chain } = new EnvironmentStore(environment).position();
    if (Buffer.compare(chain, emptyChain) === 0) {
      if (isBegun > 0) return undefined;
      await nameData(environment, machine.randomBytes);
    }
    const identity = await registerFirstCore(context, folder, store);
    const beginning = { connection, name: 'core', replicas, environment, leader } as const;
    await answered(brokers, () => beginLog(beginning));
    return identity;
  } catch (error) {
    if (error instanceof LogBegunError) return undefined;
    throw error;
  } finally {
    await store.close();
  }
}

/** From here on the brokers keep what this core has not read. */
async function registration(context: NodeContext, known?: Admission): Promise<Admission> {
  const { connection, log, stopping: signal } = context;
  const { id = '', cluster = '' } = known ?? {};
  const request = { ...joinRequestOf(context, undefined), id, cluster };
  return await joinCluster({ connection, timers: systemTimers, log, request, signal });
}

async function copy(context: NodeContext, folder: DataFolder, admitted: Admission): Promise<void> {
  const { config, log, machine, self, stopping: signal } = context;
  const keys = new ClusterKeys(config.cluster.secret);
  const proof = new MachineProof(keys.requests, machine.clock);
  let isFirst = true;
  const cores = async (): Promise<readonly string[]> => {
    const { cores: urls } = isFirst ? admitted : await registration(context, admitted);
    isFirst = false;
    return urls.filter((url) => url !== self.url);
  };
  await copyCore({
    folder,
    cores,
    proof,
    cluster: admitted.cluster,
    keys,
    progress: loggedProgress(log),
    timers: systemTimers,
    log,
    signal,
  });
}

function loggedProgress(log: Logger): CopyProgress {
  let [total, copied, nextMs] = [0, 0, 0];
  return {
    begin: (bytes) => {
      [total, copied, nextMs] = [bytes, 0, systemTimers.monotonicMs() + lineMs];
    },
    add: (bytes) => {
      copied += bytes;
      if (systemTimers.monotonicMs() < nextMs) return;
      nextMs = systemTimers.monotonicMs() + lineMs;
      log.info({ done: sizeText(copied), of: sizeText(total) }, 'copying the data of another core');
    },
    file: () => undefined,
    check: () => log.info({ of: sizeText(total) }, 'reading the copy'),
  };
}
