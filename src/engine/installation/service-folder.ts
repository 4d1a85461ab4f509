/**
 * The data folder in the hands of a service or a command: looked at before anything in it is made or changed.
 *
 *   service   lock -> inspect -> [ports are free] -> make what a first start makes -> raise numbers -> mark the start
 *   takeover  inspect, beside the service that runs -> [it yields] -> lock -> raise numbers -> mark the start
 *   command   the service's leave to open the files, or the lock where none runs -> inspect
 *
 * The last step of marking the start goes on beside the loading.
 */
import { randomFillSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import type { RandomBytes } from '../../model/ids.ts';
import { openDeliveryTables } from '../../store/delivery/open-delivery.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import type { ManagementMark } from '../../store/installation.ts';
import type { Management } from '../../store/management/management.ts';
import { openScanStore } from '../../store/scans/scans.ts';
import type { Logger } from '../../telemetry/log.ts';
import {
  type DataFolder,
  DataFolderError,
  DataFolderLockedError,
  openDataFolder,
  openExistingDataFolder,
} from '../data-folder.ts';
import {
  assertInstallation,
  assertSound,
  inspectFolder,
  type Inspection,
  isUnfinished,
  beginInstallation,
  beginMarking,
  endMarking,
  makeInstallation,
} from './installation.ts';
import { openDataFiles, type OpenDataFiles } from '../opening/data-files-opening.ts';
import { type FolderLock, lockDataFolder, replaceLock } from '../takeover/folder-lock.ts';
import { hostTakeovers } from '../takeover/host-takeovers.ts';
import { PredecessorConnection, type TakeoverHello } from '../takeover/predecessor-connection.ts';
import type { TakeoverHost } from '../takeover/successor-connection.ts';
import { removePidFile, writePidFile } from '../takeover/pid-file.ts';
import { type NumberedStores, raiseBlocks, raiseNumbers } from './numbers.ts';

/** `existing`: a first start is refused, for a folder that may be on a disk which is not mounted. */
export type ServiceStart = 'any' | 'existing';

/** The kernel closes a dead process's connections a moment before its lock. */
const deadLockTriesMax = 100;
/** For a command, or a service that is stopping, to be done with the folder. */
const busyLockTriesMax = 200;
const lockRetryMs = 20;

export class ServiceFolder {
  readonly folder: DataFolder;
  /** The service that this process takes over from, which has locked the folder until `begin`. */
  readonly predecessor: PredecessorConnection | undefined;
  #inspection: Inspection;
  /** Of a successor, which opens the files beside its predecessor. */
  readonly #files: OpenDataFiles | undefined;
  readonly #log: Logger;
  #lock: FolderLock | undefined;
  #hosting: { close(): Promise<void> } | undefined;

  private constructor(
    folder: DataFolder,
    inspection: Inspection,
    owner: FolderLock | PredecessorConnection,
    files: OpenDataFiles | undefined,
    log: Logger,
  ) {
    this.folder = folder;
    this.#inspection = inspection;
    this.#files = files;
    this.predecessor = owner instanceof PredecessorConnection ? owner : undefined;
    this.#lock = owner instanceof PredecessorConnection ? undefined : owner;
    this.#log = log;
  }

  /**
   * @param takeover undefined = the folder must not be in use
   * @throws DataFolderError when it is locked, or cannot be taken over, or its parts do not fit together
   */
  static async open(
    dataDir: string,
    start: ServiceStart,
    log: Logger,
    takeover?: TakeoverHello,
  ): Promise<ServiceFolder> {
    if (start === 'existing' && !existsSync(dataDir)) throw noFirstStart(dataDir, 'does not exist');
    const folder = openDataFolder(dataDir);
    const predecessor = takeover && (await PredecessorConnection.find(folder, takeover, log));
    const owner = predecessor ?? (await lockOnceFree(folder));
    let files: OpenDataFiles | undefined;
    try {
      files = predecessor && (await openDataFiles(folder, 'read'));
      // A service that runs has read all of it.
      const inspection = await inspectFolder(folder, predecessor === undefined ? 'start' : 'quick');
      assertSound('start', folder, inspection);
      if (start === 'existing' && isUnfinished(inspection))
        throw noFirstStart(dataDir, 'has no data');
      if (predecessor === undefined) writePidFile(folder, log);
      return new ServiceFolder(folder, inspection, owner, files, log);
    } catch (error) {
      await files?.close();
      await (owner instanceof PredecessorConnection ? owner.close() : owner.unlock());
      throw error;
    }
  }

  /**
   * For a node of a cluster, whose keys are those of the cluster: management.mdb is there from here on, and `make` makes
   * the rest when the keys are. @returns whether this is a first start
   */
  async beginMaking(): Promise<boolean> {
    if (!isUnfinished(this.#inspection)) return false;
    if (this.#inspection.parts.mark === undefined) await beginInstallation(this.folder);
    return true;
  }

  /** The folder has changed since it was opened. */
  async inspectAgain(): Promise<void> {
    this.#inspection = await inspectFolder(this.folder);
    assertSound('start', this.folder, this.#inspection);
  }

  /** What a first start makes. */
  async make(randomBytes: RandomBytes): Promise<void> {
    await makeInstallation(this.folder, this.#inspection, { randomBytes });
  }

  /**
   * The folder is ours from here on. Before a number is given out, and before another part of this process writes to
   * the stores.
   * @returns resolves when nothing of it writes to management.mdb any more
   */
  async begin(management: Management): Promise<() => Promise<void>> {
    if (this.#lock === undefined) {
      this.#lock = await this.#replaceLock();
      writePidFile(this.folder, this.#log);
    }
    management.environment.refresh();
    await this.#withStores(management, (stores) => raiseNumbers(stores, this.#log));
    return await this.#mark(management);
  }

  /**
   * The same where a log decides about management.mdb: its numbers are those of the log. When this resolves all marks are
   * written, which are this folder's own.
   */
  async beginReplicated(management: Management): Promise<void> {
    await this.#withStores(management, (stores) => raiseBlocks(stores, this.#log));
    const marked = await this.#mark(management);
    await marked();
  }

  async #withStores(management: Management, work: (stores: NumberedStores) => void): Promise<void> {
    const { scansFile, deliveryFile } = this.folder;
    const scans = openScanStore(scansFile);
    const delivery = openDeliveryTables(deliveryFile, 'existing', (deliveries) => {
      this.#log.info({ deliveries }, 'deliveries of an older release converted');
    });
    try {
      work({ management, scans, delivery });
    } finally {
      await scans.environment.close();
      await delivery.environment.close();
    }
  }

  async #mark({ environment }: Management): Promise<() => Promise<void>> {
    let marking: Promise<void> = Promise.resolve();
    if (isUnfinished(this.#inspection)) return () => marking;
    await this.#logged(async () => {
      const mark = await beginMarking(this.folder, environment);
      marking = this.#logged(() => this.#end(environment, mark));
    });
    return () => marking;
  }

  /** A predecessor that is gone has left a stale lock; where it is not, another process is in its place. */
  async #replaceLock(): Promise<FolderLock> {
    if (this.predecessor?.isGone === false) return await replaceLock(this.folder);
    return await lockOnceDead(() => lockDataFolder(this.folder));
  }

  /** A disk that refuses leaves the marks of the start before, and the service goes on. */
  async #logged(marking: () => Promise<void>): Promise<void> {
    try {
      await marking();
    } catch (err) {
      this.#log.error({ err }, 'marking this start failed, the next one goes on');
    }
  }

  async #end(management: StoreEnvironment, mark: ManagementMark): Promise<void> {
    const log = this.#log;
    const { added, removed } = await endMarking(this.folder, management, mark);
    if (removed.length > 0) {
      log.warn({ keys: removed }, 'keys were taken out: API keys signed with them are refused');
    }
    if (added.length > 0) log.warn({ keys: added }, 'keys of the key files are new');
  }

  /** Another process may take over from this one. After `begin`. */
  hostTakeovers(host: TakeoverHost, clock: Clock): void {
    if (this.#lock !== undefined) {
      this.#hosting = hostTakeovers(this.#lock, host, clock, this.#log);
    }
  }

  /** The process that has replaced our lock is gone. */
  async lockAgain(): Promise<void> {
    await lockOnceDead(async () => this.#lock?.retake());
    writePidFile(this.folder, this.#log);
  }

  async close(): Promise<void> {
    await this.#hosting?.close();
    removePidFile(this.folder);
    await this.#files?.close();
    await this.#lock?.unlock();
    // Last: a predecessor that answers open connections takes this for our end, and locks the folder again.
    this.predecessor?.close();
  }
}

/** A running service is not waited for. */
const lockOnceFree = (folder: DataFolder): Promise<FolderLock> =>
  retryWhile(
    () => lockDataFolder(folder),
    ({ owner }) => owner === 'busy',
    busyLockTriesMax,
  );

/** The lock of a process that has just ended may answer a moment longer. */
const lockOnceDead = <T>(lock: () => Promise<T>): Promise<T> =>
  retryWhile(lock, () => true, deadLockTriesMax);

async function retryWhile<T>(
  lock: () => Promise<T>,
  isWaitedFor: (error: DataFolderLockedError) => boolean,
  triesMax: number,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await lock();
    } catch (error) {
      const isLocked = error instanceof DataFolderLockedError && isWaitedFor(error);
      if (!isLocked || tries === triesMax) throw error;
      await pause(lockRetryMs);
    }
  }
}

const noFirstStart = (dataDir: string, state: string): DataFolderError =>
  new DataFolderError(
    `Cannot start: data folder ${resolve(dataDir)} ${state}, and --existing forbids a first start; ` +
      'is its disk mounted?',
  );

/** The data folder in the hands of a command. */
export interface CommandFolder {
  readonly folder: DataFolder;
  readonly close: () => Promise<void>;
}

/** For commands on data that a service has made. @throws DataFolderError */
export const openInstallation = (dataDir: string): Promise<CommandFolder> =>
  openForCommand(openExistingDataFolder(dataDir), async () => undefined);

/** For commands that may fill a new folder. @throws DataFolderError */
export const openOrMakeInstallation = (dataDir: string): Promise<CommandFolder> =>
  openForCommand(openDataFolder(dataDir), async (folder) => {
    const inspection = await inspectFolder(folder);
    if (!isUnfinished(inspection)) return;
    assertSound('open', folder, inspection);
    const randomBytes: RandomBytes = (bytes) => randomFillSync(bytes);
    await makeInstallation(folder, inspection, { randomBytes });
  });

/** @param make called where no service runs, with the folder locked */
async function openForCommand(
  folder: DataFolder,
  make: (folder: DataFolder) => Promise<void>,
): Promise<CommandFolder> {
  const files = await openDataFiles(folder, 'change');
  try {
    if (!files.isServiceRunning) await make(folder);
    await assertInstallation('open', folder);
    return { folder, close: () => files.close() };
  } catch (error) {
    await files.close();
    throw error;
  }
}
