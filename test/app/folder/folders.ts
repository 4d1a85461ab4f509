/** Data folders as first starts and later starts leave them, without a service. */
import { randomFillSync } from 'node:crypto';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder } from '../../../src/app/folder/data-folder.ts';
import { faultText } from '../../../src/app/folder/folder-faults.ts';
import {
  assertSound,
  inspectFolder,
  makeInstallation,
  markStart,
} from '../../../src/app/folder/installation.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { openDeliveryTables } from '../../../src/store/delivery/delivery.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { sharedFolder } from '../../store/temporary-management.ts';
import { memoryDisk } from './memory-disk.ts';

export const randomBytes = (bytes: Uint8Array): Uint8Array => randomFillSync(bytes);

export const parts = [
  'management.mdb',
  'scans.mdb',
  'delivery.mdb',
  'journal',
  'signing-keys.json',
  'visitor.key',
] as const;

/**
 * Folders of one test file, below `parent`: of one installation at its `first` start and two starts `later`, of `other`
 * one, and `data` for the test.
 */
export async function makeFolders() {
  const parent = sharedFolder(memoryDisk);
  const at = (name: string): string => join(parent, name);
  const [first, later, other] = [at('first'), at('later'), at('other')];
  await make(first);
  await fill(first);
  cpSync(first, later, { recursive: true });
  await mark(later);
  await mark(later);
  await make(other);
  return { parent, first, later, other, data: at('data') };
}

/** Makes what a first start makes, or goes on with it. */
export async function make(path: string): Promise<void> {
  const folder = openDataFolder(path);
  const inspection = await inspectFolder(folder);
  assertSound('start', folder, inspection);
  await makeInstallation(folder, inspection, randomBytes);
}

/** Marks a start. */
export async function mark(path: string): Promise<void> {
  await make(path);
  const folder = openDataFolder(path);
  const environment = new StoreEnvironment(folder.managementFile);
  try {
    await markStart(folder, environment);
  } finally {
    await environment.close();
  }
}

/** What is wrong, a line a part. */
export async function faultsIn(path: string): Promise<string[]> {
  return (await inspectFolder(openDataFolder(path))).faults.map(faultText);
}

/** Takes a part from another folder. */
export function put(path: string, part: string, from: string): void {
  rmSync(join(path, part), { recursive: true, force: true });
  cpSync(join(from, part), join(path, part), { recursive: true });
}

/** Data of a workspace with a code, scans and deliveries. */
async function fill(path: string): Promise<void> {
  const management = openManagement(join(path, 'management.mdb'));
  management.environment.transactionSync(() => {
    management.next('workspace');
    management.next('code');
  });
  await management.close();
  const scans = openScanStore(join(path, 'scans.mdb'));
  scans.environment.transactionSync(() => scans.meta.put('sequence', 7));
  await scans.environment.close();
  const delivery = openDeliveryTables(join(path, 'delivery.mdb'));
  delivery.environment.transactionSync(() => {
    const counts = { pending: 0, delivered: 9, dead: 0, canceled: 0 };
    delivery.stats.put(1, { counts, failuresInRow: 0 });
  });
  await delivery.environment.close();
}

/** Takes the mark from a part. */
export async function removeMark(path: string, part: string): Promise<void> {
  if (part === 'journal') return rmSync(join(path, 'journal', 'installation.json'));
  const environment = new StoreEnvironment(join(path, part));
  environment.transactionSync(() => environment.table('installation').remove('mark'));
  await environment.close();
}
