/** A data folder that has every part, made without a service, and its contents to compare. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CopyProgress } from '../../../src/app/folder/backup/copy-files.ts';
import { type DataFolder, DataFolderError } from '../../../src/app/folder/data-folder.ts';
import { openInstallation } from '../../../src/app/folder/service-folder.ts';
import { openDeliveryTables } from '../../../src/store/delivery/delivery.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';

export const ignore = (): void => undefined;
export const quiet: CopyProgress = { begin: ignore, add: ignore, file: ignore, check: ignore };

export async function makeWholeFolder(path: string): Promise<DataFolder> {
  const { folder, close } = await openInstallation(path, 'fill');
  await openManagement(folder.managementFile).close();
  await openScanStore(folder.scansFile).environment.close();
  await openDeliveryTables(folder.deliveryFile).environment.close();
  mkdirSync(join(folder.journalRoot, '0'), { recursive: true });
  writeFileSync(join(folder.journalRoot, '0', '0000000000000000.log'), '');
  mkdirSync(join(path, 'own'));
  writeFileSync(join(path, 'own', 'one.txt'), 'text');
  await close();
  return folder;
}

export const refusalOf = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'done',
    (error: unknown) => (error instanceof DataFolderError ? error.message : String(error)),
  );

/** Every file below a folder, with a hash of its bytes; without locks, into which LMDB's readers write. */
export function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  return Object.fromEntries(
    names
      .filter((name) => !name.endsWith('-lock') && lstatSync(join(folder, name)).isFile())
      .map((name) => [
        name,
        createHash('md5')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  );
}
