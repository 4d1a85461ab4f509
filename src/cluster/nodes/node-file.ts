/**
 * What a node knows of itself, in its data folder: `cluster.json`, as JSON.
 *
 *   cluster, node    ids of the cluster and of this registration
 *   name, role       as it joined
 *   journals         the numbers of its journals, one for each redirect thread
 *   run              of this registration: sent with each piece of a journal
 *   access           of an edge: what it shows to cores, and where they are
 *
 * Without it the folder is a new node, and no core counts its uncounted scans.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson, readIfThere, replaceFile } from '../../platform/small-files.ts';
import type { NodeRole } from '../../store/management/cluster.ts';
import { isCount, isText, listOf, recordOf } from '../message-fields.ts';
import { NodeError } from './node-error.ts';
import { isNodeName, isNodeRole } from './node-name.ts';
import { confirmStart } from './start-record.ts';

export const nodeFileName = 'cluster.json';

/** An edge follows the links of cores also while the brokers are away. */
export interface EdgeAccess {
  readonly token: string;
  /** Addresses of their APIs. */
  readonly cores: readonly string[];
}

export interface NodeIdentity {
  readonly cluster: string;
  readonly node: string;
  readonly name: string;
  readonly role: NodeRole;
  readonly journals: readonly number[];
  readonly run: number;
  readonly access?: EdgeAccess;
}

const isAccess = recordOf<EdgeAccess>({ token: isText, cores: listOf(isText) });

const isIdentity = recordOf<NodeIdentity>({
  cluster: isText,
  node: isText,
  name: isNodeName,
  role: isNodeRole,
  journals: listOf(isCount),
  run: isCount,
  access: (value): value is EdgeAccess | undefined => value === undefined || isAccess(value),
});

/** Undefined in a folder that never joined, and where there is no folder. @throws NodeError if the file is not valid */
export function readNodeFile(folder: string): NodeIdentity | undefined {
  const path = join(folder, nodeFileName);
  const bytes = existsSync(path) ? readIfThere(path) : undefined;
  if (bytes === undefined) return undefined;
  const identity = parseJson(bytes.toString('utf8'));
  if (isIdentity(identity)) return identity;
  throw new NodeError(
    `Cannot read ${path}: it is damaged, expected {"cluster", "node", "name", "role", "journals", "run"}; restore it from a backup of this machine`,
  );
}

/** Makes or replaces it, readable by its owner alone. The leader has answered by then, and has recorded this start. */
export function writeNodeFile(folder: string, identity: NodeIdentity): void {
  const { cluster, node, name, role, journals, run, access } = identity;
  const text = JSON.stringify({ cluster, node, name, role, journals, run, access });
  replaceFile(join(folder, nodeFileName), `${text}\n`);
  confirmStart(folder);
}

/** @throws NodeError where the settings are of another node than the folder */
export function checkNodeFile(
  identity: NodeIdentity,
  settings: { readonly name: string; readonly role: NodeRole },
): void {
  if (identity.name !== settings.name) {
    throw new NodeError(
      `Cannot start as ${settings.name}: the data folder is of the node ${identity.name}; set cluster.nodeName to ${identity.name}, or start in another folder`,
    );
  }
  if ((identity.role === 'edge') === (settings.role === 'edge')) return;
  throw new NodeError(
    `Cannot start with the role ${settings.role}: the data folder is of a node with the role ${identity.role}, whose data differs; start in another folder under another name`,
  );
}
