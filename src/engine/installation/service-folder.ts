/**
 * Opens the data folder for a service or a command, which inspects it before it changes anything.
 *
 *   service   lock -> inspect -> make the parts of a first start -> raise numbers -> mark the start
 *   takeover  inspect while the old service runs -> [it yields] -> lock -> raise numbers -> mark the start
 *   command   the service's permission to open the files, or the lock if none runs -> inspect
 */
import { randomFillSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import type { RandomBytes } from '../../model/ids.ts';
import { openDeliveryTables } from '../../store/delivery/delivery.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
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
  assertFinished,
  assertSound,
  beginScansAnew,
  inspectFolder,
  type Inspection,
  beginInstallation,
  makeInstallation,
  markStart,
} from './installation.ts';
import { isScansLost } from './folder-faults.ts';
import { openDataFiles, type OpenDataFiles } from '../opening/data-files-opening.ts';
import { type FolderLock, lockDataFolder, replaceLock } from '../takeover/folder-lock.ts';
import type { CommandTable } from '../commands/command-table.ts';
import { type Hosting, hostTakeovers, takeoverTimes } from '../takeover/host-takeovers.ts';
import { PredecessorConnection, type TakeoverHello } from '../takeover/predecessor-connection.ts';
import type { TakeoverHost } from '../takeover/successor-connection.ts';
import { removePidFile, writePidFile } from '../takeover/pid-file.ts';
import { raiseNumbers } from './numbers.ts';

/** `existing` refuses a first start: the disk may not be mounted. `scans-anew` starts without statistics if scans.mdb is lost. */
export type ServiceStart = 'any' | 'existing' | 'scans-anew';

/** The kernel closes a dead process's connections a moment before it releases the lock. */
const deadLockTriesMax = 100;
/** Waits for a command, or for a service that stops. */
const busyLockTriesMax = 200;
const lockRetryMs = 20;

export class ServiceFolder {
  readonly folder: DataFolder;
  /** The service that this process takes over from. It owns the lock until `begin`. */
  readonly predecessor: PredecessorConnection | undefined;
  #inspection: Inspection;
  readonly #files: OpenDataFiles | undefined;
  readonly #log: Logger;
  #lock: FolderLock | undefined;
  #hosting: Hosting | undefined;

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
   * @throws DataFolderError if it is locked, cannot be taken over, or has faults
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
      // A running service has read all of it.
      let inspection = await inspectFolder(folder, predecessor === undefined ? 'start' : 'quick');
      const isAnew = start === 'scans-anew' && predecessor === undefined;
      if (isAnew && isScansLost(inspection.faults)) {
        const aside = await beginScansAnew(folder, inspection);
        log.warn({ aside }, 'statistics begin anew');
        inspection = await inspectFolder(folder);
      }
      assertSound('start', folder, inspection);
      if (start === 'existing' && inspection.isUnfinished)
        throw noFirstStart(dataDir, 'has no data');
      if (predecessor === undefined) writePidFile(folder, log);
      return new ServiceFolder(folder, inspection, owner, files, log);
    } catch (error) {
      await files?.close();
      await (owner instanceof PredecessorConnection ? owner.close() : owner.unlock());
      throw error;
    }
  }

  /** For a node of a cluster: makes management.mdb; `make` follows when the cluster's keys are here. @returns true = a first start */
  async beginMaking(): Promise<boolean> {
    if (!this.#inspection.isUnfinished) return false;
    if (this.#inspection.parts.mark === undefined) await beginInstallation(this.folder);
    return true;
  }

  async inspectAgain(): Promise<void> {
    this.#inspection = await inspectFolder(this.folder);
    assertSound('start', this.folder, this.#inspection);
  }

  async make(randomBytes: RandomBytes): Promise<void> {
    await makeInstallation(this.folder, this.#inspection, randomBytes);
  }

  /**
   * Makes the folder this process's own. Call it before anything gives out a number or writes to the stores.
   * @param raise which numbers move; a core of a cluster raises only its blocks
   */
  async begin(management: Management, raise = raiseNumbers): Promise<void> {
    if (this.#lock === undefined) {
      this.#lock = await this.#replaceLock();
      writePidFile(this.folder, this.#log);
    }
    management.environment.refresh();
    const { scansFile, deliveryFile } = this.folder;
    const scans = openScanStore(scansFile);
    const delivery = openDeliveryTables(deliveryFile);
    try {
      raise({ management, scans, delivery }, this.#log);
    } finally {
      await scans.environment.close();
      await delivery.environment.close();
    }
    if (!this.#inspection.isUnfinished) await this.#markStart(management.environment);
  }

  /** If the disk refuses, the marks of the last start stay, and the service continues. */
  async #markStart(management: StoreEnvironment): Promise<void> {
    const log = this.#log;
    try {
      const { added, removed } = await markStart(this.folder, management);
      if (removed.length > 0) {
        log.warn({ keys: removed }, 'keys were removed: API keys signed with them are refused');
      }
      if (added.length > 0) log.warn({ keys: added }, 'the key files have new keys');
    } catch (err) {
      log.error({ err }, 'cannot mark this start, the next start tries again');
    }
  }

  /** A dead predecessor leaves a stale lock. If the lock is not stale, another process has taken it. */
  async #replaceLock(): Promise<FolderLock> {
    if (this.predecessor?.isGone === false) return await replaceLock(this.folder);
    return await lockOnceDead(() => lockDataFolder(this.folder));
  }

  /** Lets another process take over from this one, and commands ask it. Call it after `begin`. */
  hostTakeovers(host: TakeoverHost, clock: Clock, commands: CommandTable): void {
    if (this.#lock !== undefined) {
      this.#hosting = hostTakeovers(this.#lock, host, clock, this.#log, takeoverTimes, commands);
    }
  }

  /** Call it before what commands use closes. */
  async endCommands(): Promise<void> {
    await this.#hosting?.endCommands();
  }

  /** After the death of the process that replaced our lock. */
  async lockAgain(): Promise<void> {
    await lockOnceDead(async () => this.#lock?.retake());
    writePidFile(this.folder, this.#log);
  }

  async close(): Promise<void> {
    await this.#hosting?.close();
    removePidFile(this.folder);
    await this.#files?.close();
    await this.#lock?.unlock();
    // Last: a predecessor that still answers connections takes this for our end, and locks the folder again.
    this.predecessor?.close();
  }
}

/** Does not wait for a running service. */
const lockOnceFree = (folder: DataFolder): Promise<FolderLock> =>
  retryWhile(
    () => lockDataFolder(folder),
    ({ owner }) => owner === 'busy',
    busyLockTriesMax,
  );

const lockOnceDead = <T>(lock: () => Promise<T>): Promise<T> =>
  retryWhile(lock, () => true, deadLockTriesMax);

async function retryWhile<T>(
  lock: () => Promise<T>,
  isTemporary: (error: DataFolderLockedError) => boolean,
  triesMax: number,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await lock();
    } catch (error) {
      const isLocked = error instanceof DataFolderLockedError && isTemporary(error);
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

export interface CommandFolder {
  readonly folder: DataFolder;
  readonly close: () => Promise<void>;
}

export const openInstallation = (dataDir: string): Promise<CommandFolder> =>
  openForCommand(openExistingDataFolder(dataDir), false);

/** For commands that may fill a new folder. @throws DataFolderError */
export const openOrMakeInstallation = (dataDir: string): Promise<CommandFolder> =>
  openForCommand(openDataFolder(dataDir), true);

async function openForCommand(folder: DataFolder, makes: boolean): Promise<CommandFolder> {
  const files = await openDataFiles(folder, 'change');
  try {
    const inspection = await inspectFolder(folder);
    assertSound('open', folder, inspection);
    if (!makes || files.isServiceRunning) assertFinished('open', folder, inspection);
    else await makeInstallation(folder, inspection, (bytes) => randomFillSync(bytes));
    return { folder, close: () => files.close() };
  } catch (error) {
    await files.close();
    throw error;
  }
}
