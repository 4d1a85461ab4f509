/** A cluster as its leader tells of it, for pages of a service that has none. */
import type { Page } from 'playwright-core';
import type { Cluster, ClusterNode } from '../../src/dashboard/client/wire.ts';
import { changeAnswers } from './harness.ts';

const node = (name: string, more: Partial<ClusterNode> = {}): ClusterNode => ({
  name,
  role: 'all',
  state: 'connected',
  version: '0.2.0',
  linksBehind: 0,
  scansBehind: 0,
  atTwoCores: true,
  joinedAt: '2026-03-01T12:00:00.000Z',
  ...more,
});

/** Nothing is wrong. */
export const calmCluster: Cluster = {
  leader: 'fra-1',
  epoch: 4,
  versions: null,
  problems: [],
  nodes: [
    node('fra-1', { state: 'active' }),
    node('fra-2'),
    node('edge-berlin', { role: 'edge', scansBehind: null }),
  ],
};

/** In the midst of an upgrade, with an edge that is away. */
export const troubledCluster: Cluster = {
  leader: 'fra-1',
  epoch: 5,
  versions: 'fra-1, edge-berlin run 0.2.0; fra-2 runs 0.1.0',
  problems: [
    {
      node: 'edge-of-the-north-hall',
      problem: 'edge-of-the-north-hall is away: no sign of life for 2 seconds',
      remedy:
        'Scans that it has not sent wait on its disk. Start it, or look at its network. If it will not come back: `quietzone cluster leave edge-of-the-north-hall` on a core.',
    },
  ],
  nodes: [
    node('fra-1', { state: 'active' }),
    node('fra-2', { version: '0.1.0', linksBehind: 1, scansBehind: 12_345 }),
    node('fra-3', { role: 'core', linksBehind: null, atTwoCores: null }),
    node('edge-berlin', { role: 'edge', scansBehind: null, linksBehind: 3, atTwoCores: false }),
    node('edge-of-the-north-hall', {
      role: 'edge',
      state: 'away',
      version: null,
      linksBehind: null,
      scansBehind: null,
    }),
  ],
};

/** From the next load on, the page finds a cluster. @param shown asked at each request */
export async function withCluster(page: Page, shown: () => Cluster, role = 'owner'): Promise<void> {
  await changeAnswers(page, /\/v1\/session$/, ({ workspace }) => ({
    workspace: { ...workspace, role },
    cluster: true,
  }));
  await page.route(/\/v1\/cluster$/, (route) => route.fulfill({ json: shown() }));
}
