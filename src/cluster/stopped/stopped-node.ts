/** What commands on a stopped node need: its data folder, locked and inspected, and brokers that answer. */
import { existsSync } from 'node:fs';
import { NodeError } from '../nodes/node-error.ts';
import type { Config } from '../../platform/config/config.ts';
import { type DataFolder, DataFolderError } from '../../app/folder/data-folder.ts';
import { assertFinished, assertSound, inspectFolder } from '../../app/folder/installation.ts';
import { FolderLock } from '../../app/folder/folder-lock.ts';
import { fitToMemory } from '../../app/machine/machine-plan.ts';
import { messageOf } from '../../model/failure.ts';
import { type Machine, thisMachine } from '../../app/modules.ts';
import { type DeliveryTables, openDeliveryTables } from '../../store/delivery/delivery.ts';
import { type Management, openManagement } from '../../store/management/management.ts';
import { openScanStore, type ScanStore } from '../../store/scans/scans.ts';
import { createLog } from '../../platform/log.ts';
import { connectNode, type NodeContext } from '../roles/context.ts';

const connectMsMax = 10_000;
/** A command that takes longer fails, and can be run again. */
const commandMsMax = 90_000;

export interface StoppedNodeOptions {
  readonly config: Config;
  readonly machine?: Machine;
  /** Reports progress, one line a call. */
  readonly say: (text: string) => void;
}

/**
 * With the folder locked, and inspected as at a start.
 * @throws DataFolderError where a service runs, or the data is not whole
 */
export async function withStoppedFolder<T>(
  folder: DataFolder,
  action: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!existsSync(folder.managementFile)) {
    throw new DataFolderError(
      `Cannot ${action}: data folder ${folder.path} has no data; set dataDir (QZ_DATA_DIR) to that of your service`,
    );
  }
  const lock = await FolderLock.take(folder, action);
  try {
    const inspection = await inspectFolder(folder, 'start');
    assertSound(action, folder, inspection);
    assertFinished(action, folder, inspection);
    return await work();
  } finally {
    await lock.unlock();
  }
}

export interface Stores {
  readonly management: Management;
  readonly scans: ScanStore;
  readonly delivery: DeliveryTables;
}

/** With the data of a folder that is locked. */
export async function withStores<T>(
  { managementFile, scansFile, deliveryFile }: DataFolder,
  work: (stores: Stores) => Promise<T>,
): Promise<T> {
  const management = openManagement(managementFile);
  const scans = openScanStore(scansFile);
  const delivery = openDeliveryTables(deliveryFile);
  try {
    return await work({ management, scans, delivery });
  } finally {
    await delivery.environment.close();
    await scans.environment.close();
    await management.close();
  }
}

/** With a connection to brokers that answer. @throws NodeError */
export async function withBrokers<T>(
  { config, machine = thisMachine }: StoppedNodeOptions,
  action: string,
  work: (context: NodeContext) => Promise<T>,
): Promise<T> {
  // The command itself reports faults.
  const log = createLog('silent');
  const stopping = AbortSignal.timeout(commandMsMax);
  const context = connectNode(fitToMemory(config), log, machine, stopping);
  const { connection } = context;
  try {
    try {
      const { manager } = await connection.ready(connectMsMax);
      await manager.getAccountInfo();
    } catch (error) {
      throw new NodeError(messageOf(error));
    }
    return await work(context);
  } catch (error) {
    if (error !== stopping.reason) throw error;
    const why = connection.problem ?? 'the brokers answer, and it took too long';
    throw new NodeError(
      `Cannot ${action} within ${commandMsMax / 1_000} s: ${why}; run the command again`,
    );
  } finally {
    await connection.close();
  }
}
