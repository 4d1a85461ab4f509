/**
 * /cluster: shows the machines of the installation and lets another one lead. The leader answers. Machines join and leave by
 * a command (`quietzone cluster`).
 *
 * Only owners and admins of the installation's first workspace see the cluster. All others get the answer of a standalone
 * machine.
 */
import { z } from 'zod';
import { Failure } from '../../model/failure.ts';
import { type Actor, roleAtLeast } from '../../model/workspace.ts';
import type { Workspaces } from '../../product/workspaces/workspaces.ts';
import { count, time } from '../kernel/fields.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { view, type Viewed } from '../kernel/view.ts';

/** Of this machine's part in a cluster. */
export interface ClusterAccess {
  status(): ClusterReport;
  /** Resolves when another node leads. @throws Failure not_found, conflict, not_active */
  handOver(to: string | undefined): Promise<{ readonly leader: string; readonly ms: number }>;
}

interface ClusterOptions {
  /** Absent on a machine alone. */
  readonly cluster?: ClusterAccess | undefined;
  readonly workspaces: Pick<Workspaces, 'isFirst'>;
}

const nodeName = z.string().meta({ description: 'Its name', example: 'node-2' });
const behind = count.nullable();

const node = z.object({
  name: nodeName,
  role: z.enum(['all', 'core', 'edge']).meta({
    description: '`edge` redirects, `core` stores the data and can lead, `all` does both',
    example: 'all',
  }),
  state: z.enum(['active', 'connected', 'away']).meta({
    description: '`active`: it leads. `away`: no sign of life for 2 seconds',
    example: 'connected',
  }),
  version: z.string().nullable().meta({
    description: 'Version of its program; null while away',
    example: '0.1.0',
  }),
  linksBehind: behind.meta({
    description:
      'Link changes that it has not applied yet; null if it does not redirect or has not reported',
    example: 0,
  }),
  scansBehind: behind.meta({
    description: 'Messages with scans that only another core has; null for an edge',
    example: 0,
  }),
  atTwoCores: z.boolean().nullable().meta({
    description: 'Whether two cores have its scans; null if it does not redirect',
    example: true,
  }),
  joinedAt: time.meta({ description: 'Time at which it joined with its current data' }),
});

const clusterSchema = z
  .object({
    id: z.string().meta({ description: 'Id of the cluster', example: 'cl_01k3zq8m4hd2v7c5x9ab' }),
    node: nodeName.meta({ description: 'The node that answers' }),
    leader: nodeName.nullable().meta({
      description: 'The node that leads; null if it is unknown',
      example: 'node-1',
    }),
    epoch: count.meta({ description: 'Number of changes of the lead', example: 4 }),
    versions: z.string().nullable().meta({
      description: 'The version of each node during an upgrade; else null',
      example: 'node-1 runs 0.2.0; node-2, node-3 run 0.1.0',
    }),
    problems: z
      .array(
        z.object({
          node: nodeName.nullable().meta({ description: 'The affected node; null = the cluster' }),
          problem: z.string().meta({
            description: 'The problem as text',
            example: 'node-3 is away: no sign of life for 2 seconds',
          }),
          remedy: z.string().meta({
            description: 'Meaning and remedy as text; commands in backquotes',
            example:
              'Scans that it has not sent wait on its disk. Start it, or look at its network.',
          }),
        }),
      )
      .meta({ description: 'Problems that need a person; empty = none' }),
    nodes: z.array(node).meta({ description: 'All joined nodes, by name' }),
  })
  .meta({ id: 'Cluster' });

const handoverBody = z
  .strictObject({
    to: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,63}$/, 'Expected the name of a node')
      .optional()
      .meta({
        description: 'The next leader; absent = any connected core',
        example: 'node-2',
      }),
  })
  .optional()
  .meta({ id: 'Handover', example: { to: 'node-2' } });

const handoverSchema = z
  .object({
    leader: nodeName.meta({
      description: 'The current leader; another node if the requested one did not take over',
    }),
    ms: count.meta({ description: 'Duration in milliseconds', example: 84 }),
  })
  .meta({ id: 'HandedOver' });

export type ClusterReport = Omit<Viewed<typeof clusterSchema>, 'nodes'> & {
  readonly nodes: ReadonlyArray<Viewed<typeof node>>;
};

/** The least role that sees the cluster. */
const access = 'admin';

/** Whether the actor may see a cluster: decides the answer of `getCluster`, and whether the dashboard has its page. */
export function seesCluster({ cluster, workspaces }: ClusterOptions, actor: Actor): boolean {
  const isAllowed = roleAtLeast(actor.role, access);
  return cluster !== undefined && isAllowed && workspaces.isFirst(actor.workspaceNo);
}

const tag = 'Cluster';

export function clusterRoutes(options: ClusterOptions): Route[] {
  const clusterOf = (actor: Actor): ClusterAccess => {
    const { cluster } = options;
    if (cluster !== undefined && seesCluster(options, actor)) return cluster;
    throw new Failure('not_found', 'This installation is not a cluster');
  };
  const getCluster = createRoute({
    method: 'GET',
    path: '/cluster',
    operationId: 'getCluster',
    access,
    tag,
    summary: 'Get the cluster',
    description:
      'The machines of this installation, as seen by the leader. For the first workspace; 404 for others, and on ' +
      'a single machine.',
    answer: { status: 200, schema: clusterSchema, what: 'The nodes and problems' },
    failures: ['not_found'],
    handle: ({ actor }) => {
      const report = clusterOf(actor).status();
      const nodes = report.nodes.map((one) => view(node, one));
      return jsonResult(200, view(clusterSchema, { ...report, nodes }));
    },
  });
  const handOver = createRoute({
    method: 'POST',
    path: '/cluster/handover',
    operationId: 'handOverCluster',
    access: 'owner',
    isSlow: true,
    tag,
    summary: 'Hand over the lead',
    description:
      'Use it before you stop the leader, or if the leader has problems. Changes are refused for a moment, ' +
      'redirects continue. 409 if no other core can lead now; 503 if none leads after 10 seconds.',
    body: handoverBody,
    // Not stored: this machine does not lead any more when it answers.
    isRepeatable: true,
    answer: { status: 200, schema: handoverSchema, what: 'The new leader' },
    failures: ['not_found', 'conflict'],
    handle: async ({ actor, body }) => jsonResult(200, await clusterOf(actor).handOver(body?.to)),
  });
  return [getCluster, handOver];
}
