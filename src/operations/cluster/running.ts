/** `quietzone cluster status`, `handover` and `leave`: requests to this machine's running node. */
import {
  type ClusterStatus,
  type NodeStatus,
  versionsText,
} from '../../cluster/control/cluster-status.ts';
import type { HandoverResult, LeaveResult } from '../../cluster/control/leader-actions.ts';
import { type Config, ConfigError } from '../../platform/config/config.ts';
import { askService } from '../../app/commands/ask-service.ts';
import { DataFolderError, openExistingDataFolder } from '../../app/folder/data-folder.ts';
import { Failure } from '../../model/failure.ts';
import type { EdgeStatus } from '../../cluster/roles/edge/edge-status.ts';
import { tableText } from '../command.ts';

/** By the name of a command, its result. */
interface Results {
  readonly 'cluster.status': ClusterStatus | EdgeStatus;
  readonly 'cluster.handover': HandoverResult;
  readonly 'cluster.leave': LeaveResult;
}

/** @throws Failure, ConfigError, DataFolderError: the message is for the operator */
export async function status(config: Config, isJson: boolean): Promise<string> {
  const seen = await ask(config, 'cluster.status');
  if (isJson) return JSON.stringify(seen);
  return seen.role === 'edge' ? edgeText(seen) : coreText(seen);
}

/** @throws as `status` */
export async function handOver(config: Config, to: string | undefined): Promise<string> {
  const done = await ask(config, 'cluster.handover', { to });
  const other = to === undefined || done.leader === to ? '' : `, because ${to} did not take over`;
  return `${done.leader} leads now${other} (after ${done.ms} ms)`;
}

/** @throws as `status` */
export async function leave(config: Config, name: string): Promise<string> {
  const { journals } = await ask(config, 'cluster.leave', { name });
  const kept =
    journals.length === 0
      ? ''
      : `The cores keep the scans that they have received from its journals (${journals.join(', ')}). Scans that are only on its disk are lost. `;
  return (
    `${name} has left the cluster. ${kept}` +
    'A machine that starts under this name joins as a new node, with an empty data folder'
  );
}

async function ask<Name extends keyof Results>(
  { cluster, dataDir }: Config,
  name: Name,
  input: object = {},
): Promise<Results[Name]> {
  if (cluster.nats.length === 0) {
    throw new ConfigError(
      'This machine is not in a cluster: cluster.nats (QZ_CLUSTER_NATS) is not set, expected its brokers',
    );
  }
  if (cluster.role === 'edge' && name !== 'cluster.status') {
    throw new Failure('not_active', 'Cannot do this on an edge: run the command on a core');
  }
  const folder = openExistingDataFolder(dataDir);
  const answer = await askService(folder, name, input);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the node of this folder has made it
  if (answer !== undefined) return answer.result as Results[Name];
  throw new DataFolderError(
    `No service runs in data folder ${folder.path}: start it, or run the command on another core`,
  );
}

function coreText(seen: ClusterStatus): string {
  const { node, role, epoch, position, leader, problem, nodes } = seen;
  const self = `${node} is ${role === 'active' ? 'active' : 'a standby'}, in epoch ${epoch} at position ${position}`;
  const other = leader === null ? 'no known leader' : `${leader.name} leads, at ${leader.url}`;
  const lines = role === 'active' ? [self] : [self, other];
  if (problem !== null) lines.push(`problem: ${problem}`);
  const versions = versionsText(nodes);
  if (versions !== undefined) lines.push(`an upgrade is running: ${versions}`);
  return [...lines, '', tableText(nodes.map(rowOf))].join('\n');
}

function rowOf({
  name,
  role,
  state,
  version,
  linksBehind,
  scansBehind,
  run,
  marks,
  url,
}: NodeStatus): object {
  const all = (values: ReadonlyArray<number | null>): string | null =>
    values.length === 0 ? null : values.map((value) => value ?? '-').join(' ');
  const journals = all(marks.map(({ journal }) => journal));
  const counted = all(marks.map((mark) => mark.counted));
  return {
    name,
    role,
    state,
    version,
    linksBehind,
    scansBehind,
    run,
    journals,
    counted,
    url,
  };
}

function edgeText({ node, links, linksBehind, contactSeconds, problems }: EdgeStatus): string {
  const contact = contactSeconds === null ? 'never' : `${contactSeconds.toFixed(1)} s ago`;
  return [
    `${node} is an edge with ${links} links, ${linksBehind} changes behind; last contact with a core: ${contact}`,
    ...problems.map((problem) => `problem: ${problem}`),
    'The whole cluster: `quietzone cluster status` on a core',
  ].join('\n');
}
