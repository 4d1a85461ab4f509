/**
 * A cluster begins with the data of its first core: that registers itself and publishes its keys in its own data. Then the log
 * begins with the data (cluster/log/log-beginning.ts), and every other core copies it.
 */
import { hostname } from 'node:os';
import { ClusterKeys } from '../nodes/cluster-keys.ts';
import { NodeError } from '../nodes/node-error.ts';
import type { NodeIdentity } from '../nodes/node-file.ts';
import { type JoinRequest, Registry } from '../nodes/registry.ts';
import { publishSecrets } from '../nodes/secrets.ts';
import { readStart } from '../nodes/start-record.ts';
import type { DataFolder } from '../../app/folder/data-folder.ts';
import { makeKeyFile } from '../../app/folder/installation.ts';
import { keyFileNames } from '../../app/folder/key-files.ts';
import { threadCounts } from '../../app/machine/machine-plan.ts';
import { createIdSource } from '../../model/ids.ts';
import type { Management } from '../../store/management/management.ts';
import type { NodeContext } from './context.ts';

/** What a node asks for when it joins. @param identity of its data folder, undefined before its first registration */
export function joinRequestOf(
  { config, instance }: NodeContext,
  identity: NodeIdentity | undefined,
): JoinRequest {
  const { nodeName: name, role } = config.cluster;
  const { node: id = '', cluster = '' } = identity ?? {};
  const threads = threadCounts(config).redirect;
  const { starts } = readStart(config.dataDir);
  const host = hostname().replaceAll(/[^\w.-]/g, '-');
  return { name, id, role, threads, cluster, instance, starts, host };
}

const clusterTables = ['cluster_identity', 'cluster_nodes', 'cluster_secrets'] as const;

/**
 * Replaces the rows of a former cluster. Only for data that no log has; may run again until another folder copies the data.
 * @throws NodeError
 */
export async function registerFirstCore(
  context: NodeContext,
  folder: DataFolder,
  store: Management,
): Promise<NodeIdentity> {
  const { config, machine } = context;
  const { clock, randomBytes } = machine;
  const { secret, nodeName: name, role } = config.cluster;
  store.environment.transactionSync(() => {
    for (const table of clusterTables) store.environment.clear(table);
  });
  for (const file of keyFileNames) makeKeyFile(folder, file, randomBytes);
  await publishSecrets({ store, folder: folder.path, keys: new ClusterKeys(secret) }, randomBytes);
  const ids = createIdSource(clock, randomBytes);
  const registry = new Registry({ store, ids, clock, instanceOf: () => undefined });
  try {
    await registry.begin();
    const joined = await registry.join(joinRequestOf(context, undefined));
    if ('refused' in joined) throw new NodeError(joined.refused);
    const { cluster, node } = joined;
    return { cluster, node: node.id, name, role, journals: node.journals, run: node.run };
  } finally {
    registry.close();
  }
}
