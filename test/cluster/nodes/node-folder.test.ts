/** What a start of a machine alone, and commands, may do in the data folder of a node. */
import { expect, test } from 'vitest';
import { NodeError } from '../../../src/cluster/nodes/node-error.ts';
import { writeNodeFile } from '../../../src/cluster/nodes/node-file.ts';
import {
  assertNoEdgeFolder,
  assertNoNodeFolder,
  assertChangeable,
} from '../../../src/cluster/nodes/node-folder.ts';
import type { NodeRole } from '../../../src/store/management/cluster.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

function folderOf(role: NodeRole): string {
  const folder = temporaryFolder();
  const name = `${role}-1`;
  writeNodeFile(folder, { cluster: 'cl_1', node: 'n_1', name, role, journals: [1], run: 1 });
  return folder;
}

test('a machine alone starts in no folder of a node, and is told the way out of it', () => {
  const alone = temporaryFolder();
  expect(() => assertNoNodeFolder(alone)).not.toThrow();
  for (const role of ['all', 'core'] as const) {
    expect(() => assertNoNodeFolder(folderOf(role))).toThrow(
      /^Cannot start: .* is of (all|core)-1, a core .* cluster\.nats .* is not set; .*`quietzone backup`.*`quietzone restore`/,
    );
  }
  expect(() => assertNoNodeFolder(folderOf('edge'))).toThrow(
    /^Cannot start: .* is of edge-1, an edge of a cluster, which has links and no codes/,
  );
});

test('commands: in the folder of a core changes are refused, in that of an edge everything is', () => {
  const [alone, core, edge] = [temporaryFolder(), folderOf('all'), folderOf('edge')];
  expect(() => assertChangeable(alone)).not.toThrow();
  expect(() => assertChangeable(core)).toThrow(
    /^Cannot change anything here: .* of all-1, a node of a cluster; start the node/,
  );
  for (const folder of [alone, core]) {
    expect(() => assertNoEdgeFolder('open', folder)).not.toThrow();
  }
  expect(() => assertNoEdgeFolder('open', edge)).toThrow(NodeError);
});
