/** What is wrong with the data in a folder that no service uses: a backup that is being made or restored. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { StoreEnvironment } from '../store/environment.ts';
import { storedVersion } from '../store/open-environment.ts';
import { dataVersions, newer } from './backup-manifest.ts';

/** @returns in words, each with the file; reads everything */
export async function damageIn(folder: string): Promise<string[]> {
  return newer(await versionsIn(folder));
}

/** By data file that is there: the version of its data. Migrates nothing. */
export async function versionsIn(folder: string): Promise<Record<string, number>> {
  const versions: Record<string, number> = {};
  for (const [name, expected] of dataVersions) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
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
