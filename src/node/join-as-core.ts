/**
 * The first start of a core: it becomes a node of the cluster, and gets the cluster's keys.
 *
 *   management.mdb, empty but for its mark ──┬─ a new cluster: follows the log ──┬─ leads: makes the keys and registers itself
 *                                             │                                   └─ another leads: is registered by it
 *                                             └─ one that has data: is registered ── copies a core (cluster/copy/) ── follows the log
 *     -> keys and registration are applied here -> key files -> cluster.json -> everything is closed, and opened as ever
 *
 * The first of several cores that are started for the first time leads; it answers the others when it has opened.
 * A start that is cut short begins again: it is a new registration then, and the former one's journals stay empty. Where
 * another core has opened meanwhile, and removed scans from the brokers, it copies that one.
 *
 * A core that comes later is registered first, so that the brokers keep for it what the copy lacks, and never leads before
 * it has all. Its empty management.mdb follows no log meanwhile: one that begins with adopted data is another one to it.
 */
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { MachineProof } from '../cluster/machine-proof.ts';
import { beginCopying, copyCore, isCopying } from '../cluster/copy/copy-receiver.ts';
import {
  clusterHasData,
  type ClusterDataOptions,
  lacksBeginnings,
} from '../cluster/copy/cluster-data.ts';
import { LoggedProgress } from '../cluster/copy/logged-progress.ts';
import { emptyChain } from '../cluster/log/entry.ts';
import { EnvironmentStore, readPosition } from '../cluster/log/environment-store.ts';
import { isFollowed } from '../cluster/log-beginning.ts';
import { ClusterKeys } from '../cluster/nodes/cluster-keys.ts';
import { JoinRefusedError, joinCluster } from '../cluster/nodes/join.ts';
import { NodeError } from '../cluster/nodes/node-error.ts';
import type { Admission } from '../cluster/nodes/join-message.ts';
import { type NodeIdentity, writeNodeFile } from '../cluster/nodes/node-file.ts';
import { type JoinRequest, Registry } from '../cluster/nodes/registry.ts';
import { publishSecrets, writeSecrets } from '../cluster/nodes/secrets.ts';
import { readStart } from '../cluster/nodes/start-record.ts';
import { StoreReplication } from '../cluster/store-replication.ts';
import type { CopyProgress } from '../engine/backup/copy-files.ts';
import type { DataFolder } from '../engine/data-folder.ts';
import { makeKeyFile } from '../engine/installation/installation.ts';
import { keyFileNames } from '../engine/installation/key-files.ts';
import { threadCounts } from '../engine/machine/machine-plan.ts';
import { Failure } from '../model/failure.ts';
import { createIdSource } from '../model/ids.ts';
import { withEnvironment } from '../store/environment.ts';
import { readManagementMark } from '../store/installation.ts';
import { openManagement, type Management } from '../store/management/management.ts';
import { systemTimers } from '../system-clock.ts';
import type { NodeContext } from './context.ts';

const stepMs = 50;

/** What a node asks for when it joins. @param identity of its data folder, undefined before its first registration */
export function joinRequestOf(
  { config, instance }: NodeContext,
  identity: NodeIdentity | undefined,
): JoinRequest {
  const { nodeName: name, role } = config.cluster;
  const { node: id = '', cluster = '' } = identity ?? {};
  const threads = threadCounts(config).redirect;
  const { starts } = readStart(config.dataDir);
  return { name, id, role, threads, cluster, instance, starts, host: hostname() };
}

/**
 * @param progress of a copy
 * @throws NodeError, such as JoinRefusedError; DataFolderError where the disk refuses
 */
export async function joinAsCore(
  context: NodeContext,
  folder: DataFolder,
  progress: CopyProgress = new LoggedProgress(context.log, systemTimers),
): Promise<NodeIdentity> {
  if (!(await mustCopy(context, folder))) {
    const isAdopted = (await stateOf(folder)) === 'data';
    const first = await withLog(context, folder, 'lead', async (joining) => {
      const admitted = await admission(joining);
      // Another core may have opened, and removed scans, before this one was registered.
      const isLate = !isAdopted && (await lacksBeginnings(askedOf(context)));
      const identity = isLate ? undefined : keepIdentity(joining, admitted);
      // It leads again once it has opened, or another core does.
      await joining.replication.releaseAtEnd();
      return identity;
    });
    if (first !== undefined) return first;
  }
  context.log.info('the cluster has data: this core copies that of another one, which must run');
  await beginCopying(folder);
  const admitted = await registration(context);
  await copy(context, folder, admitted, progress);
  return await withLog(context, folder, 'follow', async (joining) => {
    const known = await whileFollowing(joining, () => knownOf(joining, admitted));
    return keepIdentity(joining, known);
  });
}

/** The cluster began without this core: it lacks the beginning of a log. */
async function mustCopy(context: NodeContext, folder: DataFolder): Promise<boolean> {
  if (isCopying(folder)) return true;
  const state = await stateOf(folder);
  const asked = askedOf(context);
  if (state === 'data') return false;
  if (state === 'empty') return await clusterHasData(asked);
  if (await lacksBeginnings(asked)) return true;
  // What it has read may be of a log that the brokers have lost since.
  const position = await readPosition(folder.managementFile);
  return (
    (await clusterHasData(asked)) && !(await isFollowed({ ...context, name: 'core' }, position))
  );
}

const askedOf = ({
  config,
  connection,
  log,
  stopping: signal,
}: NodeContext): ClusterDataOptions => ({
  connection,
  replicas: config.cluster.replicas,
  timers: systemTimers,
  log,
  signal,
});

/** begun = by a first start that was cut short when it had read something of the log; data = adopted. */
async function stateOf({ managementFile }: DataFolder): Promise<'empty' | 'begun' | 'data'> {
  return await withEnvironment(managementFile, 'existing', (environment) => {
    const { seq, chain } = new EnvironmentStore(environment).position();
    if (seq > 0) return readManagementMark(environment)?.state === 'new' ? 'begun' : 'data';
    // Adopted data has a chain before it has read anything.
    return Buffer.compare(chain, emptyChain) === 0 ? 'empty' : 'data';
  });
}

/** From here on the brokers keep for it what it has not read. */
async function registration(context: NodeContext, known?: Admission): Promise<Admission> {
  const { connection, log, stopping: signal } = context;
  const { id = '', cluster = '' } = known ?? {};
  const request = { ...joinRequestOf(context, undefined), id, cluster };
  return await joinCluster({ connection, timers: systemTimers, log, request, signal });
}

async function copy(
  context: NodeContext,
  folder: DataFolder,
  admitted: Admission,
  progress: CopyProgress,
): Promise<void> {
  const { config, log, machine, connection, self, stopping: signal } = context;
  const proof = new MachineProof(new ClusterKeys(config.cluster.secret).requests, machine.clock);
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
    isFollowed: (name, position) => isFollowed({ connection, name }, position),
    progress,
    timers: systemTimers,
    log,
    signal,
  });
}

/** Runs `work` while management.mdb follows the log. @param part of this machine: `lead` = it may lead */
async function withLog<T>(
  context: NodeContext,
  folder: DataFolder,
  part: 'lead' | 'follow',
  work: (joining: Joining) => Promise<T>,
): Promise<T> {
  const { config, log, machine, connection, self } = context;
  const { secret, replicas } = config.cluster;
  const store = openManagement(folder.managementFile);
  const { clock, randomBytes, random } = machine;
  const ids = createIdSource(clock, randomBytes);
  const registry = new Registry({ store, ids, clock, instanceOf: () => undefined });
  const replication = new StoreReplication({
    environment: store.environment,
    connection,
    name: 'core',
    replicas,
    self,
    timers: systemTimers,
    random,
    log,
    mayLead: () => part === 'lead',
    onChanged: () => undefined,
  });
  try {
    replication.start();
    const keys = new ClusterKeys(secret);
    return await work({ context, folder, keys, store, registry, replication });
  } finally {
    await replication.close();
    registry.close();
    await store.close();
  }
}

function keepIdentity(
  { context, folder, store, keys }: Joining,
  { id: node, cluster, journals, run }: Admitted,
): NodeIdentity {
  writeSecrets({ store, folder: folder.path, keys });
  const { nodeName: name, role } = context.config.cluster;
  const identity = { cluster, node, name, role, journals, run };
  writeNodeFile(folder.path, identity);
  return identity;
}

/** Resolves to what `find` returns when it returns something. @throws NodeError when the log cannot be followed */
async function whileFollowing<T>(
  { context: { stopping }, replication }: Joining,
  find: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  for (;;) {
    stopping.throwIfAborted();
    const { stop } = replication.status;
    if (stop !== undefined)
      throw new NodeError(`Cannot join the cluster: ${replication.problem ?? stop.detail}`);
    const found = await find();
    if (found !== undefined) return found;
    await pause(stepMs);
  }
}

/** Undefined until this machine has applied its registration, and the keys. */
function knownOf(
  { context, registry, store }: Joining,
  admitted: Admitted | undefined,
): Admitted | undefined {
  const hasKeys = keyFileNames.every((name) => store.cluster.secrets.has(name));
  const isKnown = hasKeys && registry.find(context.config.cluster.nodeName)?.id === admitted?.id;
  return isKnown ? admitted : undefined;
}

interface Joining {
  readonly context: NodeContext;
  readonly folder: DataFolder;
  readonly keys: ClusterKeys;
  readonly store: Management;
  readonly registry: Registry;
  readonly replication: StoreReplication;
}

type Admitted = Omit<Admission, 'token' | 'cores'>;

/** Resolves when this machine has applied its registration, and the keys. */
async function admission(joining: Joining): Promise<Admitted> {
  const { context, replication } = joining;
  const { connection, log } = context;
  const request = joinRequestOf(context, undefined);
  const ending = new AbortController();
  let admitted: Admitted | undefined;
  let refusal: unknown;
  joinCluster({ connection, timers: systemTimers, log, request, signal: ending.signal }).then(
    (answer) => (admitted = answer),
    (error: unknown) => (refusal = error),
  );
  try {
    return await whileFollowing(joining, async () => {
      if (refusal !== undefined) throw refusal;
      if (replication.isHeld) admitted = (await registerSelf(joining, request)) ?? admitted;
      return knownOf(joining, admitted);
    });
  } finally {
    ending.abort();
  }
}

/** @returns undefined where this machine no longer leads */
async function registerSelf(
  { context, folder, keys, store, registry }: Joining,
  request: JoinRequest,
): Promise<Admitted | undefined> {
  const { randomBytes } = context.machine;
  try {
    for (const name of keyFileNames) {
      if (!store.cluster.secrets.has(name)) makeKeyFile(folder, name, randomBytes);
    }
    await publishSecrets({ store, folder: folder.path, keys }, randomBytes);
    await registry.begin();
    const joined = await registry.join(request);
    if ('refused' in joined) throw new JoinRefusedError(joined);
    const { cluster, node } = joined;
    return { cluster, ...node };
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_active') return undefined;
    throw error;
  }
}
