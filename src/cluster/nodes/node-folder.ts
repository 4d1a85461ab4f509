/**
 * The data folder of a node, for a start of a machine alone, and for commands while the node is stopped.
 *
 *            a machine alone   commands that read   commands that change
 *   core     refused           allowed              refused: the cluster's log decides what its data is
 *   edge     refused           refused              refused: it has links and no codes
 */
import { Failure } from '../../model/failure.ts';
import { NodeError } from './node-error.ts';
import { readNodeFile } from './node-file.ts';

/** For a start without `cluster.nats`. @throws NodeError in the folder of a node */
export function assertNoNodeFolder(path: string): void {
  assertNoEdgeFolder('start', path);
  const node = readNodeFile(path);
  if (node === undefined) return;
  throw new NodeError(
    `Cannot start: data folder ${path} is of ${node.name}, a core of a cluster, and cluster.nats (QZ_CLUSTER_NATS) is not set; ` +
      'to continue with its data on a machine alone, `quietzone backup` it, and `quietzone restore` the backup into another folder',
  );
}

/** For commands. @throws NodeError in the folder of an edge */
export function assertNoEdgeFolder(action: string, path: string): void {
  const node = readNodeFile(path);
  if (node?.role !== 'edge') return;
  throw new NodeError(
    `Cannot ${action}: data folder ${path} is of ${node.name}, an edge of a cluster, which has links and no codes; ` +
      'use the cores, or another folder (dataDir, QZ_DATA_DIR)',
  );
}

/** For a command that changes something while no service runs. @throws Failure not_active in the folder of a node */
export function assertChangeable(path: string): void {
  const node = readNodeFile(path);
  if (node === undefined) return;
  throw new Failure(
    'not_active',
    `Cannot change anything here: data folder ${path} is of ${node.name}, a node of a cluster; start the node, then run the command again`,
  );
}
