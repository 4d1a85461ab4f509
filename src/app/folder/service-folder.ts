/**
 * Opens the data folder for a service or a command, which examines it before it changes anything.
 *
 *   service   lock -> examine -> make the parts of a first start -> raise numbers -> mark the start
 *   takeover  the old service examines it, then yields -> the same
 *   command   while no service runs: lock -> examine
 */
import { randomFillSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RandomBytes } from '../../model/ids.ts';
import { openDeliveryTables } from '../../store/delivery/delivery.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import type { Management } from '../../store/management/management.ts';
import { openScanStore } from '../../store/scans/scans.ts';
import type { Logger } from '../../platform/log.ts';
import {
  closeToOthers,
  type DataFolder,
  DataFolderError,
  DataFolderLockedError,
  openDataFolder,
  openExistingDataFolder,
} from './data-folder.ts';
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
import { folderOwner, FolderLock } from './folder-lock.ts';
import { serviceAccess } from '../commands/folder-commands.ts';
import type { CommandTable } from '../commands/command-table.ts';
import { type Hosting, hostTakeovers, type TakeoverHost } from '../upgrade/host-takeovers.ts';
import { PredecessorConnection, type TakeoverHello } from '../upgrade/predecessor-connection.ts';
import { removePidFile, writePidFile } from './pid-file.ts';
import { raiseNumbers } from './numbers.ts';

/**
 * `existing` refuses a first start, because the disk may not be mounted. `scans-anew`: a start without a lost
 * scans.mdb.
 */
export type ServiceStart = 'any' | 'existing' | 'scans-anew';

/** The kernel closes a dead process's connections just before it releases the lock. */
const deadLockTriesMax = 100;
/** Waits for a command, or for a service that stops. */
const busyLockTriesMax = 200;
const lockRetryMs = 20;

export interface ServiceFolderOptions {
  readonly dataDir: string;
  readonly start: ServiceStart;
  /** Data of this process for its predecessor. */
  readonly hello: TakeoverHello;
  readonly takeover?: boolean | undefined;
  readonly log: Logger;
}

/** The locked folder, or the predecessor's. Only `examine` returns a changeable one. */
export class ServiceFolder {
  readonly folder: DataFolder;
  /** The service that this process takes over from. It owns the folder until `examine`. */
  readonly predecessor: PredecessorConnection | undefined;
  readonly #start: ServiceStart;
  readonly #log: Logger;
  #lock: FolderLock | undefined;
  #hosting: Hosting | undefined;

  private constructor(
    { start, log }: ServiceFolderOptions,
    folder: DataFolder,
    owner: FolderLock | PredecessorConnection,
  ) {
    this.folder = folder;
    this.predecessor = owner instanceof PredecessorConnection ? owner : undefined;
    this.#lock = owner instanceof PredecessorConnection ? undefined : owner;
    this.#start = start;
    this.#log = log;
  }

  /**
   * Locks the folder, or finds the service to take over from: the running one, at a `takeover`, or one whose successor
   * has died.
   * @throws DataFolderError if the folder is locked, or cannot be taken over
   */
  static async lock(options: ServiceFolderOptions): Promise<ServiceFolder> {
    const { dataDir, start, hello, takeover = false, log } = options;
    if (start === 'existing' && !existsSync(dataDir)) throw noFirstStart(dataDir, 'does not exist');
    const folder = openDataFolder(dataDir);
    const find = () => PredecessorConnection.find(folder, hello, log);
    const yielded = async (error: unknown): Promise<PredecessorConnection> => {
      const isYielded = error instanceof DataFolderLockedError && error.owner === 'yielded';
      const predecessor = isYielded ? await find() : undefined;
      if (predecessor === undefined) throw error;
      return predecessor;
    };
    const owner = (takeover && (await find())) || (await lockOnceFree(folder).catch(yielded));
    return new ServiceFolder(options, folder, owner);
  }

  /**
   * Makes the folder this process's own, and compares all its parts. Call it before a store is opened.
   * @throws DataFolderError if it has faults
   */
  async examine(): Promise<ExaminedFolder> {
    const { folder, predecessor } = this;
    const log = this.#log;
    if (this.#start !== 'scans-anew') await this.#askForFaults();
    await predecessor?.yield();
    // A dead predecessor leaves a stale lock. If the lock is not stale, another process has taken it.
    this.#lock ??= await (predecessor?.isGone === false
      ? FolderLock.replace(folder)
      : lockOnceDead(() => FolderLock.take(folder)));
    let inspection = await inspectFolder(folder, predecessor === undefined ? 'start' : 'quick');
    if (this.#start === 'scans-anew' && isScansLost(inspection.faults)) {
      const aside = await beginScansAnew(folder, inspection);
      log.warn({ aside }, 'statistics restarted');
      inspection = await inspectFolder(folder);
    }
    assertSound('start', folder, inspection);
    if (this.#start === 'existing' && inspection.isUnfinished) {
      throw noFirstStart(folder.path, 'has no data');
    }
    closeToOthers(folder.path);
    writePidFile(folder, log);
    return new ExaminedFolder(folder, inspection, log);
  }

  /**
   * Asks the running service, which has the data files open, for faults. If it finds any, it continues. @throws
   * DataFolderError
   */
  async #askForFaults(): Promise<void> {
    const { folder, predecessor } = this;
    const runs = async (): Promise<boolean> => (await folderOwner(folder)) === 'running';
    if (predecessor === undefined || !(await runs())) return;
    const access = await serviceAccess(folder).catch(async (error: unknown) => {
      // A service that died in the meantime needs no answer.
      if (await runs()) throw error;
    });
    if (access !== undefined) assertSound('take over', folder, await access.inspect());
  }

  /** Accepts takeovers and commands. Call it after `begin` of the examined folder. */
  hostTakeovers(host: TakeoverHost, commands: CommandTable): void {
    if (this.#lock !== undefined) {
      this.#hosting = hostTakeovers(this.#lock, host, this.#log, commands);
    }
  }

  /** Call it before closing modules that commands use. */
  async endCommands(): Promise<void> {
    await this.#hosting?.endCommands();
  }

  /** After the death of the process that replaced our lock. @throws DataFolderLockedError if another one has it */
  async lockAgain(): Promise<void> {
    await lockOnceDead(async () => this.#lock?.retake());
    writePidFile(this.folder, this.#log);
  }

  async close(): Promise<void> {
    await this.#hosting?.close();
    removePidFile(this.folder);
    await this.#lock?.unlock();
    this.predecessor?.close();
  }
}

/** A sound folder of this process. */
export class ExaminedFolder {
  readonly #folder: DataFolder;
  readonly #log: Logger;
  #inspection: Inspection;

  constructor(folder: DataFolder, inspection: Inspection, log: Logger) {
    this.#folder = folder;
    this.#inspection = inspection;
    this.#log = log;
  }

  /** For a node of a cluster: makes management.mdb; `make` follows when the cluster's keys are here. @returns true = a first start */
  async beginMaking(): Promise<boolean> {
    const { mark, isUnfinished } = this.#inspection;
    if (!isUnfinished) return false;
    if (mark === undefined) await beginInstallation(this.#folder);
    return true;
  }

  async inspectAgain(): Promise<void> {
    this.#inspection = await inspectFolder(this.#folder);
    assertSound('start', this.#folder, this.#inspection);
  }

  /** Makes the missing parts of a first start. */
  async make(randomBytes: RandomBytes): Promise<void> {
    await makeInstallation(this.#folder, this.#inspection, randomBytes);
  }

  /**
   * Call it before any number is assigned and before any write to the stores.
   * @param raise which numbers move; a core of a cluster raises only its blocks
   */
  async begin(management: Management, raise = raiseNumbers): Promise<void> {
    const { scansFile, deliveryFile } = this.#folder;
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
    try {
      await markStart(this.#folder, management);
    } catch (err) {
      this.#log.error({ err }, 'cannot mark this start, the next start tries again');
    }
  }
}

/** Does not wait for a running service. */
export const lockOnceFree = (folder: DataFolder): Promise<FolderLock> =>
  retryWhile(
    () => FolderLock.take(folder),
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

/**
 * Locks the folder for a command while no service runs.
 * @param purpose `fill` makes a new installation in an empty folder
 * @throws DataFolderLockedError if another process has it, DataFolderError if it has faults
 */
export async function openInstallation(
  dataDir: string,
  purpose: 'use' | 'fill' = 'use',
): Promise<CommandFolder> {
  const folder = purpose === 'fill' ? openDataFolder(dataDir) : openExistingDataFolder(dataDir);
  const lock = await FolderLock.take(folder, 'open');
  try {
    const inspection = await inspectFolder(folder);
    assertSound('open', folder, inspection);
    if (purpose === 'use') assertFinished('open', folder, inspection);
    else await makeInstallation(folder, inspection, (bytes) => randomFillSync(bytes));
    return { folder, close: () => lock.unlock() };
  } catch (error) {
    await lock.unlock();
    throw error;
  }
}
