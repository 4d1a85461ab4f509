/**
 * `quietzone cluster reseed`: the brokers have lost what all cores had applied, and each core has stopped following
 * (`diverged`). The logs are deleted, and begin with the data of this core: the others join it.
 *
 *   the operator has compared the cores, none leads ─▶ CORE is deleted and begins here ─▶ DELIVERY the same
 *
 * Interrupted, it runs again. Until then no core can follow: the log is gone, or begins with data that only this core has
 * (log-beginning.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { beginLog, deleteLog, isFollowed, lastIn } from '../log/log-beginning.ts';
import type { LogPosition } from '../log/applier.ts';
import { EnvironmentStore } from '../log/environment-store.ts';
import { type LogName, logNames, streamOf } from '../nats/log-streams.ts';
import { NodeError } from '../nodes/node-error.ts';
import { checkNodeFile, readNodeFile } from '../nodes/node-file.ts';
import { openDataFolder } from '../../app/folder/data-folder.ts';
import type { NodeContext } from '../roles/context.ts';
import {
  type StoppedNodeOptions,
  type Stores,
  withBrokers,
  withStoppedFolder,
  withStores,
} from './stopped-node.ts';

/** A core that can lead does so within 4 s, and appends twice a second then. */
const watchedMs = 5_000;

export interface ReseedOptions extends StoppedNodeOptions {
  /** The operator has compared the cores: this one has the newest data. */
  readonly isMostAdvanced: boolean;
}

export interface Reseeded {
  readonly node: string;
  readonly epoch: number;
  /** Those that must join again. */
  readonly others: readonly string[];
}

/** @throws NodeError, DataFolderError with a text for the operator; unless the text says otherwise, the command has changed nothing */
export async function reseed(options: ReseedOptions): Promise<Reseeded> {
  const { nodeName: name, role } = options.config.cluster;
  const folder = openDataFolder(options.config.dataDir);
  const known = readNodeFile(folder.path);
  if (known === undefined || known.role === 'edge') {
    const found = known === undefined ? 'of a machine alone' : `of ${known.name}, an edge`;
    throw new NodeError(`Cannot reseed: data folder ${folder.path} is ${found}, expected a core's`);
  }
  checkNodeFile(known, { name, role });
  return await withStoppedFolder(folder, 'reseed', () =>
    withBrokers(options, 'reseed', (context) =>
      withStores(folder, (stores) => run(options, context, stores)),
    ),
  );
}

async function run(
  options: ReseedOptions,
  { connection, config, self: leader }: NodeContext,
  { management, delivery }: Stores,
): Promise<Reseeded> {
  const { nodeName: node, replicas } = config.cluster;
  const environments = { core: management.environment, delivery: delivery.environment };
  const positionOf = (name: LogName): LogPosition =>
    new EnvironmentStore(environments[name]).position();
  const own = positionOf('core');
  if (own.epoch === 0) throw new NodeError(`Cannot reseed: ${node} never had anything of a log`);
  const followed = logNames.map((name) => isFollowed({ connection, name }, positionOf(name)));
  if (!(await Promise.all(followed)).includes(false)) {
    throw new NodeError(
      'Cannot reseed: the brokers have all that this core has; start it, and it continues',
    );
  }
  const others = [...management.cluster.nodes.range({})].flatMap(({ value }) =>
    value.role === 'edge' || value.leftAtMs !== undefined || value.name === node
      ? []
      : [value.name],
  );
  const extent = `the data of epoch ${own.epoch}, up to position ${own.seq}`;
  if (others.length > 0 && !options.isMostAdvanced) {
    throw new NodeError(
      `Cannot reseed from ${node} yet: it has ${extent}. Compare it with ${others.join(', ')} (\`quietzone cluster status\` on each). ` +
        'If this core has the highest epoch, and the highest position in it, run `quietzone cluster reseed --most-advanced` here; else on the core that has',
    );
  }
  options.say(`${node} has ${extent}`);
  options.say(`Watching for ${watchedMs / 1_000} s whether any other core leads`);
  await assertNoneLeads(connection);
  for (const name of logNames) {
    await deleteLog(connection, name);
    await beginLog({ connection, name, replicas, environment: environments[name], leader });
    options.say(`The log ${streamOf(name)} begins with the data of ${node}`);
  }
  return { node, epoch: positionOf('core').epoch, others };
}

/** @throws NodeError where one does */
async function assertNoneLeads(connection: NodeContext['connection']): Promise<void> {
  const before = await lastIn(connection, streamOf('core'));
  await pause(watchedMs);
  if ((await lastIn(connection, streamOf('core'))) === before) return;
  throw new NodeError(
    `Cannot reseed: a core leads, as the log ${streamOf('core')} grows. ` +
      'If it leads with too little data, stop it, and try again. Otherwise this machine joins it (`quietzone cluster join`)',
  );
}
