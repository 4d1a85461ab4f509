/**
 * Data that the nodes of a cluster share. The leader writes it and replicates it; without a cluster it is empty.
 *
 *   cluster_identity   "id"        -> the cluster's id, "cl_…", created by its first leader
 *   cluster_nodes      node name   -> NodeRecord, never removed
 *   cluster_secrets    file name   -> the file, encrypted
 *
 * The sequence `journal` assigns journal numbers; `node` counts the changes of cluster_nodes. The table `cluster` is
 * not replicated: it stores how far this machine has read the log (cluster/log/environment-store.ts).
 */
import type { StoreEnvironment } from '../environment.ts';

/** `edge` redirects, `core` keeps the data and may lead, `all` does both. */
export type NodeRole = 'all' | 'core' | 'edge';

export interface Registration {
  /** Unique in the cluster, never reused. */
  readonly journals: readonly number[];
  /** From 1; each new disk under the name is a new run. */
  readonly run: number;
}

export interface NodeRecord extends Registration {
  /** "n_…" */
  readonly id: string;
  readonly name: string;
  readonly role: NodeRole;
  /** Earlier registrations of this name: their journals still count. */
  readonly past: readonly Registration[];
  readonly joinedAtMs: number;
  /** The last start: an id and the machine. Another folder with this name is a copy. */
  readonly start?: { readonly id: string; readonly host: string };
  /** Set when the node was removed from the cluster. */
  readonly leftAtMs?: number;
}

export function openClusterTables(environment: StoreEnvironment) {
  return {
    identity: environment.table<string, string>('cluster_identity'),
    nodes: environment.table<string, NodeRecord>('cluster_nodes'),
    secrets: environment.table<string, Uint8Array>('cluster_secrets', { value: 'binary' }),
  };
}
