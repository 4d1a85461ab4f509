/** What is wrong with a folder's data: of a service, or of a backup that is being made or restored. */
import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { DataFileFault } from '../../store/data-file/format.ts';
import { StoreEnvironment } from '../../store/environment.ts';
import { storedVersion } from '../../store/open-environment.ts';
import { dataVersions } from './manifest.ts';
import { dataFileFaultText, findDataFileFaults } from '../data-files.ts';
import { dataFolderAt } from '../data-folder.ts';
import { verifyFolder } from '../verify/verify.ts';

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
export async function wholeDamage(folder: string): Promise<Damage> {
  const { findings, unsound } = await verifyFolder(dataFolderAt(folder));
  return {
    faults: findings.map(({ file, text }) => `${file}: ${text}`),
    unsound: new Set(unsound),
  };
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
