/** Labels of a cluster's nodes. */
import { plural } from '../../client/format.ts';
import type { Cluster, ClusterNode } from '../../client/wire.ts';
import type { BadgeTone } from '../../parts/list.tsx';

export const stateLabels: Readonly<Record<ClusterNode['state'], string>> = {
  active: 'Leads',
  connected: 'Connected',
  away: 'Away',
};

export const stateTones: Readonly<Record<ClusterNode['state'], BadgeTone>> = {
  active: 'accent',
  connected: 'good',
  away: 'bad',
};

export const roleTexts: Readonly<Record<ClusterNode['role'], string>> = {
  all: 'Redirects, keeps the data, may lead',
  core: 'Keeps the data, may lead',
  edge: 'Redirects',
};

/** The cores that could lead in place of the one that does. */
export const candidates = ({ nodes }: Cluster): readonly string[] =>
  nodes
    .filter(({ role, state }) => role !== 'edge' && state === 'connected')
    .map(({ name }) => name);

/** What a node has not yet that others have; undefined where nothing is known of it. */
export function behindText({ state, linksBehind, scansBehind }: ClusterNode): string | undefined {
  const links = linksBehind ?? 0;
  const scans = scansBehind ?? 0;
  if (state === 'away' && scans === 0) return undefined;
  const parts = [
    ...(links === 0 ? [] : [plural(links, 'link change')]),
    ...(scans === 0 ? [] : [plural(scans, 'batch of scans', 'batches of scans')]),
  ];
  return parts.length === 0 ? 'Up to date' : parts.join(', ');
}
