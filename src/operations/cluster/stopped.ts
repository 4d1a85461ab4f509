/** `quietzone cluster adopt`, `join` and `reseed`: changes to the data folder of a stopped machine. */
import { type Config, ConfigError } from '../../platform/config/config.ts';
import { adopt } from '../../cluster/stopped/adopt.ts';
import { join, type JoinOptions } from '../../cluster/stopped/join.ts';
import { reseed } from '../../cluster/stopped/reseed.ts';
import type { Process } from '../command.ts';

/** @throws ConfigError, NodeError, DataFolderError: the message is for the operator */
export async function adoptText(config: Config, { progress: say }: Process): Promise<string> {
  assertCore(config, 'adopt');
  const { cluster, name, role } = await adopt({ config, say });
  return [
    `Data folder ${config.dataDir} now belongs to ${name}, the first core of the new cluster ${cluster}.`,
    `Start it as before, with the same settings: \`quietzone serve --role ${role}\`.`,
    'Then start the other nodes, each with an empty data folder: cores copy the data, edges get its links.',
  ].join('\n');
}

/** @throws as adoptText */
export async function reseedText(
  config: Config,
  { progress: say }: Process,
  isMostAdvanced: boolean,
): Promise<string> {
  assertCore(config, 'reseed');
  const { node, epoch, others: names } = await reseed({ config, say, isMostAdvanced });
  const start = `The logs begin with the data of ${node}, in epoch ${epoch}. Start it: it leads.`;
  if (names.length === 0) return start;
  return `${start}\nThen, on each of the other cores (${names.join(', ')}): stop it, \`quietzone cluster join\`, and start it`;
}

/** @throws as adoptText */
export async function joinText(
  config: Config,
  { progress: say }: Process,
  scans: JoinOptions['scans'],
): Promise<string> {
  assertCore(config, 'join');
  const aside = await join({ config, say, scans });
  return [
    `The old data of this core is in ${aside}; delete it when the core has joined and its data is complete.`,
    `Start it: it copies the data of another core, which must run: \`quietzone serve --role ${config.cluster.role}\``,
  ].join('\n');
}

/** @throws ConfigError */
function assertCore({ cluster }: Config, action: string): void {
  if (cluster.nats.length === 0) {
    throw new ConfigError(
      `Cannot ${action}: cluster.nats (QZ_CLUSTER_NATS) is not set, expected the brokers of the cluster`,
    );
  }
  if (cluster.role === 'edge') {
    throw new ConfigError(`Cannot ${action}: the role is edge, expected all or core`);
  }
}
