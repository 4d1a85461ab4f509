/** Which cores of the cluster run, and what each says of the cluster: asked by a command whose own machine is stopped. */
import { setTimeout as pause } from 'node:timers/promises';
import { type ClusterStatus, isStatus } from '../../cluster/control/cluster-status.ts';
import { askCore } from '../../cluster/control/node-control.ts';
import { MachineProof } from '../../cluster/machine-proof.ts';
import { type Beat, coreBeats, readBeat } from '../../cluster/nodes/beat-message.ts';
import { ClusterKeys } from '../../cluster/nodes/cluster-keys.ts';
import type { Config } from '../../config.ts';
import { systemClock } from '../../system-clock.ts';
import type { NodeContext } from '../context.ts';

/** A core that runs beats four times in it, and one that leads appends as often. */
export const watchedMs = 2_500;
const statusMsMax = 5_000;

export type RunningCore = Pick<Beat, 'name' | 'url'>;

/** Resolves after `watchedMs`: to those whose beats came meanwhile, and which do not end. */
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

/** How a core sees the cluster. @throws Error: why it does not say */
export async function askStatus({ cluster }: Config, { url }: RunningCore): Promise<ClusterStatus> {
  const proof = new MachineProof(new ClusterKeys(cluster.secret).requests, systemClock);
  const signal = AbortSignal.timeout(statusMsMax);
  const command = { type: 'command', name: 'cluster.status', input: null } as const;
  const seen = await askCore({ url, proof, signal }, command);
  if (isStatus(seen)) return seen;
  throw new Error('its answer is no status');
}
