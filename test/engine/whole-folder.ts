/** A data folder that has every part, made without a service, and its contents to compare. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CopyProgress } from '../../src/engine/backup/copy-files.ts';
import { type CopyDisk, systemCopyDisk } from '../../src/engine/backup/copy-disk.ts';
import type { DataFolder } from '../../src/engine/data-folder.ts';
import { openOrMakeInstallation } from '../../src/engine/installation/service-folder.ts';
import { openDeliveryTables } from '../../src/store/delivery/delivery.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';

export const quiet: CopyProgress = {
  begin: () => undefined,
  add: () => undefined,
  file: () => undefined,
  check: () => undefined,
};

export async function makeWholeFolder(path: string): Promise<DataFolder> {
  const { folder, close } = await openOrMakeInstallation(path);
  await openManagement(folder.managementFile).close();
  await openScanStore(folder.scansFile).environment.close();
  await openDeliveryTables(folder.deliveryFile).environment.close();
  mkdirSync(join(folder.journalRoot, '0'), { recursive: true });
  writeFileSync(join(folder.journalRoot, '0', '0000000000000000.log'), '');
  mkdirSync(join(path, 'logos'));
  writeFileSync(join(path, 'logos', 'one.png'), 'picture');
  await close();
  return folder;
}

/** Every file below a folder, with a hash of its bytes. */
export function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  return Object.fromEntries(
    names
      .filter((name) => lstatSync(join(folder, name)).isFile())
      .map((name) => [
        name,
        createHash('md5')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  );
}

export const systemError = (code: string): Error =>
  Object.assign(new Error(`${code}: refused`), { code, syscall: 'write' });

/** More than a backup or a restore of the folder takes. */
export const callsMax = 200;

export interface CountedDisk extends CopyDisk {
  calls: number;
}

/** The system's disk until its n-th call, which throws, and so do all after it while `isDead`. */
export function diskThatFails(call: number, error: Error, isDead: boolean): CountedDisk {
  const disk: CountedDisk = { ...systemCopyDisk, calls: 0 };
  const step = (): void => {
    disk.calls += 1;
    if (disk.calls === call || (isDead && disk.calls > call)) throw error;
  };
  disk.makeFolder = (path) => (step(), systemCopyDisk.makeFolder(path));
  disk.rename = (from, to) => (step(), systemCopyDisk.rename(from, to));
  disk.remove = (path) => (step(), systemCopyDisk.remove(path));
  disk.syncFolder = (path) => (step(), systemCopyDisk.syncFolder(path));
  disk.create = async (path) => {
    step();
    const file = await systemCopyDisk.create(path);
    return {
      write: async (bytes) => (step(), await file.write(bytes)),
      sync: async () => (step(), await file.sync()),
      close: () => file.close(),
    };
  };
  return disk;
}
