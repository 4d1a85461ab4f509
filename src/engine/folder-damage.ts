/** What is wrong with a folder's data: of a service, or of a backup that is being made or restored. */
import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemErrorCode } from '../model/failure.ts';
import type { DataFileFault } from '../store/data-file/format.ts';
import { walkDataFile } from '../store/data-file/walk.ts';
import { StoreEnvironment } from '../store/environment.ts';
import { storedVersion } from '../store/open-environment.ts';
import { dataVersions } from './backup-manifest.ts';
import { dataFileFaultText, findDataFileFaults } from './data-files.ts';
import { dataFolderAt } from './data-folder.ts';

export interface Damage {
  /** In words, each with the file. */
  readonly faults: readonly string[];
  /** Data files that LMDB must not open. */
  readonly unsound: ReadonlySet<string>;
}

/** As far as opening the data files needs it; beside a service or without one. Changes nothing. */
export const quickDamage = (folder: string): Damage =>
  damageOf(findDataFileFaults(dataFolderAt(folder), 'quick'));

/** Reads all of a folder that nothing else uses. Changes nothing. */
export function wholeDamage(folder: string): Damage {
  const paths = [...dataVersions.keys()].map((name) => join(folder, name));
  return damageOf(paths.filter((path) => existsSync(path)).flatMap(faultsOf));
}

function faultsOf(file: string): readonly DataFileFault[] {
  try {
    return walkDataFile(file).faults;
  } catch (error) {
    return [{ file, page: 0, table: '', text: `cannot be read: ${systemErrorCode(error)}` }];
  }
}

const damageOf = (faults: readonly DataFileFault[]): Damage => ({
  faults: faults.map(dataFileFaultText),
  unsound: new Set(faults.map(({ file }) => basename(file))),
});

/** By data file that is there: the version of its data. Migrates nothing. */
export async function versionsIn(
  folder: string,
  unsound: ReadonlySet<string>,
): Promise<Record<string, number>> {
  const versions: Record<string, number> = {};
  for (const [name, expected] of dataVersions) {
    const path = join(folder, name);
    if (unsound.has(name) || !existsSync(path)) continue;
    const environment = new StoreEnvironment(path);
    try {
      const version = storedVersion(environment, expected);
      if (version !== undefined) versions[name] = version;
    } finally {
      await environment.close();
    }
  }
  return versions;
}

/** What opening the data files of a copy has left beside them. */
export function removeLocks(folder: string): void {
  for (const name of dataVersions.keys()) rmSync(join(folder, `${name}-lock`), { force: true });
}
