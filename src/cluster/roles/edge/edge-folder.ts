/**
 * The data folder of an edge, which stores nothing of its own but scans on their way to the cores:
 *
 *   cluster.json     what the node is, its token for the cores, and their addresses (cluster/nodes/node-file.ts)
 *   start.json       its starts (cluster/nodes/start-record.ts)
 *   management.mdb   the links of the cluster (cluster/links/replica-store.ts)
 *   journal/<n>/     scans that the cores do not have yet
 *   service.pid, service.sock   as of any service
 *
 * It has no key, no scans.mdb and no delivery.mdb: a folder with one of them belongs to a service that stores data.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readNodeFile } from '../../nodes/node-file.ts';
import type { Closers } from '../../../platform/closers.ts';
import type { CommandTable } from '../../../app/commands/command-table.ts';
import {
  closeToOthers,
  type DataFolder,
  DataFolderError,
  makeFolder,
  openDataFolder,
} from '../../../app/folder/data-folder.ts';
import { lockOnceFree } from '../../../app/folder/service-folder.ts';
import { hostTakeovers } from '../../../app/upgrade/host-takeovers.ts';
import { removePidFile, writePidFile } from '../../../app/folder/pid-file.ts';
import type { Logger } from '../../../platform/log.ts';
import { noTakeovers } from '../takeover.ts';

/** What an edge never has. */
const partsOfOthers = ['scans.mdb', 'delivery.mdb', 'signing-keys.json', 'visitor.key'] as const;

export interface EdgeFolder {
  readonly folder: DataFolder;
  /** Runs commands from here on. */
  readonly hostCommands: (commands: CommandTable) => void;
}

/**
 * Makes the folder if it is missing. Call it before the node joins: management.mdb is made when `cluster.json` is there.
 * @throws DataFolderError if it is locked, or of another service
 */
export async function openEdgeFolder(
  dataDir: string,
  log: Logger,
  closers: Closers,
): Promise<EdgeFolder> {
  const folder = openDataFolder(dataDir);
  const lock = await lockOnceFree(folder);
  closers.push(() => lock.unlock());
  assertEdgeFolder(folder);
  closeToOthers(folder.path);
  makeFolder(folder.journalRoot);
  writePidFile(folder, log);
  closers.push(() => removePidFile(folder));
  const hostCommands = (commands: CommandTable): void => {
    const hosting = hostTakeovers(lock, noTakeovers, log, commands);
    closers.push(() => hosting.close());
  };
  return { folder, hostCommands };
}

function assertEdgeFolder({ path, managementFile }: DataFolder): void {
  const part = partsOfOthers.find((name) => existsSync(join(path, name)));
  const isUnknown = readNodeFile(path) === undefined && existsSync(managementFile);
  if (part === undefined && !isUnknown) return;
  throw new DataFolderError(
    `Cannot start as an edge: data folder ${path} is of a service that stores data, it has ` +
      `${part ?? 'management.mdb, and no cluster.json'}; start in another folder (dataDir, QZ_DATA_DIR)`,
  );
}
