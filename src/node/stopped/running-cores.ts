/** The cores that run, and the status of each, for commands on a stopped machine. */
import { setTimeout as pause } from 'node:timers/promises';
import { type ClusterStatus, isStatus } from '../../cluster/control/cluster-status.ts';
import { askCore } from '../../cluster/control/node-control.ts';
import { MachineProof } from '../../cluster/machine-proof.ts';
import { type Beat, coreBeats, readBeat } from '../../cluster/nodes/beat-message.ts';
import { ClusterKeys } from '../../cluster/nodes/cluster-keys.ts';
import type { Config } from '../../config.ts';
import { systemClock } from '../../system-clock.ts';
import type { NodeContext } from '../context.ts';

/** A running core beats four times in it, and a leader appends as often. */
export const watchedMs = 2_500;
const statusMsMax = 5_000;

export type RunningCore = Pick<Beat, 'name' | 'url'>;

/** Resolves after `watchedMs` to the cores that beat meanwhile and do not end. */
export async function watchCores({
  connection,
}: Pick<NodeContext, 'connection'>): Promise<readonly RunningCore[]> {
  const cores = new Map<string, RunningCore>();
  const end = connection.subscribe(coreBeats, (bytes) => {
    const beat = readBeat(bytes);
    if (beat === undefined || beat.role === 'edge') return;
    if (beat.isLast) cores.delete(beat.name);
    else cores.set(beat.name, beat);
  });
  try {
    await pause(watchedMs);
  } finally {
    end();
  }
  return [...cores.values()];
}

/** The cluster as a core sees it. @throws Error, Failure with the reason */
export async function askStatus({ cluster }: Config, { url }: RunningCore): Promise<ClusterStatus> {
  const proof = new MachineProof(new ClusterKeys(cluster.secret).requests, systemClock);
  const signal = AbortSignal.timeout(statusMsMax);
  const command = { type: 'command', name: 'cluster.status', input: null } as const;
  const seen = await askCore({ url, proof, signal }, command);
  if (isStatus(seen)) return seen;
  throw new Error('its answer is not a status');
}
