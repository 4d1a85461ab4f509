/**
 * The first start of a core: it becomes a node of the cluster, and gets the cluster's keys.
 *
 *   management.mdb, empty but for its mark ── follows the log ──┬─ leads: makes the keys and registers itself
 *                                                               └─ another leads: is registered by it
 *     -> keys and registration are applied here -> key files -> cluster.json -> everything is closed, and opened as ever
 *
 * The first of several cores that are started for the first time leads; it answers the others when it has opened.
 * A start that is cut short begins again: it is a new registration then, and the former one's journals stay empty.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ClusterKeys } from '../cluster/nodes/cluster-keys.ts';
import { JoinRefusedError, joinCluster } from '../cluster/nodes/join.ts';
import { NodeError } from '../cluster/nodes/node-error.ts';
import { type NodeIdentity, writeNodeFile } from '../cluster/nodes/node-file.ts';
import { type JoinRequest, Registry } from '../cluster/nodes/registry.ts';
import { publishSecrets, writeSecrets } from '../cluster/nodes/secrets.ts';
import { StoreReplication } from '../cluster/store-replication.ts';
import type { DataFolder } from '../engine/data-folder.ts';
import { makeKeyFile } from '../engine/installation/installation.ts';
import { keyFileNames } from '../engine/installation/key-files.ts';
import { threadCounts } from '../engine/machine/machine-plan.ts';
import { Failure } from '../model/failure.ts';
import { createIdSource } from '../model/ids.ts';
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
  return { name, id, role, threads: threadCounts(config).redirect, cluster, instance };
}

/** @throws NodeError, such as JoinRefusedError */
export async function joinAsCore(context: NodeContext, folder: DataFolder): Promise<NodeIdentity> {
  const { config, log, machine, connection, self } = context;
  const { nodeName, secret, replicas, role } = config.cluster;
  const keys = new ClusterKeys(secret);
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
    nodeName,
    // There may be no standby yet.
    ack: 'broker',
    timers: systemTimers,
    random,
    log,
    onChanged: () => undefined,
  });
  const joining = { context, folder, keys, store, registry, replication };
  try {
    replication.start();
    const admitted = await admission(joining);
    writeSecrets({ store, folder: folder.path, keys });
    const { id: node, cluster, journals, run } = admitted;
    const identity = { cluster, node, name: nodeName, role, journals, run };
    writeNodeFile(folder.path, identity);
    // It leads again once it has opened, or another core does.
    await replication.releaseAtEnd();
    return identity;
  } finally {
    await replication.close();
    registry.close();
    await store.close();
  }
}

interface Joining {
  readonly context: NodeContext;
  readonly folder: DataFolder;
  readonly keys: ClusterKeys;
  readonly store: Management;
  readonly registry: Registry;
  readonly replication: StoreReplication;
}

interface Admitted {
  readonly id: string;
  readonly cluster: string;
  readonly journals: readonly number[];
  readonly run: number;
}

/** Resolves when this machine has applied its registration, and the keys. */
async function admission(joining: Joining): Promise<Admitted> {
  const { context, registry, store, replication } = joining;
  const { connection, log, stopping } = context;
  const request = joinRequestOf(context, undefined);
  const ending = new AbortController();
  let admitted: Admitted | undefined;
  let refusal: unknown;
  joinCluster({ connection, timers: systemTimers, log, request, signal: ending.signal }).then(
    (answer) => (admitted = answer),
    (error: unknown) => (refusal = error),
  );
  try {
    for (;;) {
      stopping.throwIfAborted();
      if (refusal !== undefined) throw refusal;
      const { stop } = replication.status;
      if (stop !== undefined) throw new NodeError(`Cannot join the cluster: ${stop.detail}`);
      if (replication.isHeld) admitted = (await registerSelf(joining, request)) ?? admitted;
      const hasKeys = keyFileNames.every((name) => store.cluster.secrets.has(name));
      const isKnown = admitted !== undefined && registry.find(request.name)?.id === admitted.id;
      if (admitted !== undefined && hasKeys && isKnown) return admitted;
      await pause(stepMs);
    }
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
      if (!store.cluster.secrets.has(name)) makeKeyFile(folder, name, { randomBytes });
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
