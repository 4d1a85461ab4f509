/**
 * The data folder of an edge, which redirects for a cluster and keeps nothing of its own but scans on their way:
 *
 *   cluster.json     what the node is (cluster/nodes/node-file.ts)
 *   start.json       its starts (cluster/nodes/start-record.ts)
 *   edge.json        its token for the cores, and their addresses
 *   management.mdb   the links of the cluster (cluster/links/replica-store.ts)
 *   journal/<n>/     scans that the cores do not have yet
 *   service.pid, service.sock   as of any service
 *
 * It has no key, no scans.mdb and no delivery.mdb: a folder that has one of them is of a service that keeps data, and
 * neither is used for the other.
 */
import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readNodeFile } from '../../cluster/nodes/node-file.ts';
import {
  closeToOthers,
  type DataFolder,
  DataFolderError,
  DataFolderLockedError,
  makeFolder,
  openDataFolder,
} from '../../engine/data-folder.ts';
import { type FolderLock, lockDataFolder } from '../../engine/takeover/folder-lock.ts';
import { lineOf, type PredecessorMessage } from '../../engine/takeover/messages.ts';
import { removePidFile, writePidFile } from '../../engine/takeover/pid-file.ts';
import type { Logger } from '../../telemetry/log.ts';

/** What an edge never has. */
const partsOfOthers = ['scans.mdb', 'delivery.mdb', 'signing-keys.json', 'visitor.key'] as const;
/** For a command, or a service that is stopping, to be done with the folder: 4 s. */
const lockTriesMax = 200;
const lockRetryMs = 20;
/** For the other side to have read the answer. */
const sayMsMax = 1_000;

export class EdgeFolder {
  readonly folder: DataFolder;
  readonly #lock: FolderLock;

  private constructor(folder: DataFolder, lock: FolderLock) {
    this.folder = folder;
    this.#lock = lock;
  }

  /**
   * Makes the folder where it is missing. Before the node joins: management.mdb is made when `cluster.json` is there.
   * @throws DataFolderError when it is locked, or of another service
   */
  static async open(dataDir: string, log: Logger): Promise<EdgeFolder> {
    const folder = openDataFolder(dataDir);
    assertNoFullFolder(folder);
    const lock = await lockOnceFree(folder);
    try {
      assertNoFullFolder(folder);
      closeToOthers(folder.path);
      makeFolder(folder.journalRoot);
      writePidFile(folder, log);
      lock.onConnection = sayRunning;
      return new EdgeFolder(folder, lock);
    } catch (error) {
      await lock.unlock();
      throw error;
    }
  }

  async close(): Promise<void> {
    removePidFile(this.folder);
    await this.#lock.unlock();
  }
}

function assertNoFullFolder({ path, managementFile }: DataFolder): void {
  const found = partsOfOthers.find((name) => existsSync(join(path, name)));
  const isUnknown = readNodeFile(path) === undefined && existsSync(managementFile);
  if (found === undefined && !isUnknown) return;
  const what = found ?? 'management.mdb, and no cluster.json';
  throw new DataFolderError(
    `Cannot start as an edge: data folder ${path} is of a service that keeps data, it has ${what}; ` +
      'start in another folder (dataDir, QZ_DATA_DIR)',
  );
}

/** To a start or a command that asks whether the folder is in use. */
function sayRunning(socket: Socket): void {
  socket.unref();
  socket.resume();
  socket.end(lineOf({ type: 'running' } satisfies PredecessorMessage));
  setTimeout(() => socket.destroy(), sayMsMax).unref();
}

async function lockOnceFree(folder: DataFolder): Promise<FolderLock> {
  for (let tries = 1; ; tries++) {
    try {
      return await lockDataFolder(folder);
    } catch (error) {
      const isBusy = error instanceof DataFolderLockedError && error.owner === 'busy';
      if (!isBusy || tries === lockTriesMax) throw error;
      await pause(lockRetryMs);
    }
  }
}
