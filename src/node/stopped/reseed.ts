/**
 * `quietzone cluster reseed`: the brokers have lost what all cores had applied, and each core has stopped following
 * (`diverged`). The logs are deleted, and begin with the data of this core: the others join it.
 *
 *   no core leads, none that runs has more ─▶ CORE is deleted and begins here ─▶ DELIVERY the same
 *
 * Interrupted, it runs again. Until then no core can follow: the log is gone, or begins with data that only this core has
 * (log-beginning.ts).
 */
import type { ClusterStatus } from '../../cluster/control/cluster-status.ts';
import { beginLog, deleteLog, isFollowed, lastIn } from '../../cluster/log-beginning.ts';
import type { LogPosition } from '../../cluster/log/applier.ts';
import { EnvironmentStore } from '../../cluster/log/environment-store.ts';
import { type LogName, logNames, streamOf } from '../../cluster/nats/log-streams.ts';
import { NodeError } from '../../cluster/nodes/node-error.ts';
import { checkNodeFile, readNodeFile } from '../../cluster/nodes/node-file.ts';
import { openDataFolder } from '../../engine/data-folder.ts';
import { messageOf } from '../../model/failure.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import type { NodeContext } from '../context.ts';
import {
  type StoppedNodeOptions,
  type Stores,
  withBrokers,
  withStoppedFolder,
  withStores,
} from './stopped-node.ts';
import { askStatus, type RunningCore, watchCores, watchedMs } from './running-cores.ts';

export interface ReseedOptions extends StoppedNodeOptions {
  /** `asked`: every other core must run, to say how much it has. `any`: the operator knows better. */
  readonly others: 'asked' | 'any';
}

export interface Reseeded {
  readonly node: string;
  readonly epoch: number;
  /** Those that must join again. */
  readonly others: readonly string[];
}

/** @throws NodeError, DataFolderError with a text for the operator: nothing was changed, unless it says so */
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
      withStores(folder, (stores) => run({ ...dataOf(stores), context, options })),
    ),
  );
}

interface Data {
  readonly environments: Readonly<Record<LogName, StoreEnvironment>>;
  /** All cores that are registered. */
  readonly cores: readonly string[];
}

const dataOf = ({ management, delivery }: Stores): Data => ({
  environments: { core: management.environment, delivery: delivery.environment },
  cores: [...management.cluster.nodes.range({})].flatMap(({ value }) =>
    value.role === 'edge' || value.leftAtMs !== undefined ? [] : [value.name],
  ),
});

interface Reseeding extends Data {
  readonly context: NodeContext;
  readonly options: ReseedOptions;
}

async function run(reseeding: Reseeding): Promise<Reseeded> {
  const { environments, cores, context, options } = reseeding;
  const { connection, config, self: leader } = context;
  const { nodeName: node, replicas } = config.cluster;
  const own = new EnvironmentStore(environments.core).position();
  if (own.epoch === 0) throw new NodeError(`Cannot reseed: ${node} never had anything of a log`);
  options.say(`${node} has the data of epoch ${own.epoch}, up to position ${own.seq}`);
  options.say(`Watching for ${watchedMs / 1_000} s whether any other core runs`);
  const running = await watch(context);
  await assertLost(reseeding);
  await assertNoneIsAhead(reseeding, own, running);
  for (const name of logNames) {
    await deleteLog(connection, name);
    await beginLog({ connection, name, replicas, environment: environments[name], leader });
    options.say(`The log ${streamOf(name)} begins with the data of ${node}`);
  }
  const { epoch } = new EnvironmentStore(environments.core).position();
  return { node, epoch, others: cores.filter((name) => name !== node) };
}

/** @returns the cores that run @throws NodeError where one leads */
async function watch(context: NodeContext): Promise<readonly RunningCore[]> {
  const { connection } = context;
  const before = await lastIn(connection, streamOf('core'));
  const running = await watchCores(context);
  const after = await lastIn(connection, streamOf('core'));
  if (after === before) return running;
  const names = running.map(({ name }) => name);
  throw new NodeError(
    `Cannot reseed: a core leads, as the log ${streamOf('core')} grows${names.length > 0 ? ` (${names.join(', ')} run)` : ''}. ` +
      'If it leads with too little data, stop it, and try again. Otherwise this machine joins it (`quietzone cluster join`)',
  );
}

/** @throws NodeError */
async function assertNoneIsAhead(
  { cores, context, options }: Reseeding,
  own: LogPosition,
  running: readonly RunningCore[],
): Promise<void> {
  const { nodeName } = context.config.cluster;
  for (const core of running) {
    const { name } = core;
    if (name === nodeName) {
      throw new NodeError(`Cannot reseed: another process runs as ${name}; stop it first`);
    }
    const { epoch, position, problem } = await statusOf(context, core);
    options.say(`${name} has the data of epoch ${epoch}, up to position ${position}`);
    if (epoch > own.epoch || (epoch === own.epoch && position > own.seq)) {
      throw new NodeError(
        `Cannot reseed from ${nodeName}: ${name} has more; use the command there, and let ${nodeName} join it`,
      );
    }
    if (problem === null) {
      throw new NodeError(
        `Cannot reseed: ${name} follows the log without a fault, so it can lead and nothing is lost; ` +
          'if the brokers have just lost their data, it notices within 20 s: try again then',
      );
    }
  }
  const asked = new Set(running.map(({ name }) => name));
  const silent = cores.filter((name) => name !== nodeName && !asked.has(name));
  if (silent.length === 0 || options.others === 'any') return;
  throw new NodeError(
    `Cannot reseed: cores that do not run may have more than ${nodeName}: ${silent.join(', ')}. ` +
      'Start them: they stop following, and answer how much they have. If they are lost, or certainly have no more, run ' +
      '`quietzone cluster reseed --without-others`',
  );
}

/** @throws NodeError if this core can follow both logs */
async function assertLost({ environments, context: { connection } }: Reseeding): Promise<void> {
  for (const name of logNames) {
    const position = new EnvironmentStore(environments[name]).position();
    if (!(await isFollowed({ connection, name }, position))) return;
  }
  throw new NodeError(
    'Cannot reseed: the brokers have all that this core has; start it, and it continues',
  );
}

/** @throws NodeError */
async function statusOf({ config }: NodeContext, core: RunningCore): Promise<ClusterStatus> {
  try {
    return await askStatus(config, core);
  } catch (error) {
    throw new NodeError(
      `Cannot ask ${core.name} at ${core.url} how much it has: ${messageOf(error)}; if it cannot answer, stop it`,
    );
  }
}
