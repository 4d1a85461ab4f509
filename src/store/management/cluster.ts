/**
 * What the nodes of a cluster share beside the data, written by the leader and replicated like it. Empty without a
 * cluster.
 *
 *   cluster_identity   "id"        -> the cluster's id, "cl_…", made by its first leader
 *                      "scans/…"       -> marks of a leader's blocks (store/scans/block-marks.ts)
 *   cluster_nodes      node name   -> NodeRecord, kept for ever
 *   cluster_secrets    file name   -> the file, encrypted
 *
 * The sequence `journal` gives out the numbers of journals, and `node` counts the changes of cluster_nodes. The table
 * `cluster` is not replicated: it says how far this machine has read the log (cluster/log/environment-store.ts).
 */
import type { StoreEnvironment } from '../environment.ts';

/** `edge` redirects, `core` keeps the data and may lead, `all` does both. */
export type NodeRole = 'all' | 'core' | 'edge';

/** One registration of a name. */
export interface Registration {
  /** Numbers of the whole cluster, never given out again. */
  readonly journals: readonly number[];
  /** From 1. Each new disk under the name is another one. */
  readonly run: number;
}

export interface NodeRecord extends Registration {
  /** "n_…" */
  readonly id: string;
  readonly name: string;
  readonly role: NodeRole;
  /** Former ones of this name: their journals are still counted. */
  readonly past: readonly Registration[];
  readonly joinedAtMs: number;
  /** Its last one: an id, and the machine. Another folder that has its name is a copy. */
  readonly start?: { readonly id: string; readonly host: string };
  /** It was removed from the cluster. */
  readonly leftAtMs?: number;
}

export function openClusterTables(environment: StoreEnvironment) {
  return {
    identity: environment.table<string, string>('cluster_identity'),
    nodes: environment.table<string, NodeRecord>('cluster_nodes'),
    secrets: environment.table<string, Uint8Array>('cluster_secrets', { value: 'binary' }),
  };
}
