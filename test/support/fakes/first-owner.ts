/** The first owner, made before a process starts: of the CPU seconds of a first start a quarter is the hash of the password. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openAdministration } from '../../../src/app/administration/administration.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { openInstallation } from '../../../src/app/folder/service-folder.ts';
import { thisMachine } from '../../../src/app/modules.ts';

/** Hashes passwords at little cost. */
export const testMachine = { ...thisMachine, passwordCostLog2: 4 };

/** Leaves what a first start leaves that ends before it shows its secrets: the next start shows them. */
export async function addFirstOwner(settings: Readonly<Record<string, string>>): Promise<void> {
  const config = loadConfig(undefined, settings);
  if (existsSync(join(config.dataDir, 'management.mdb'))) return;
  const umask = process.umask(0o077);
  try {
    const { folder, close } = await openInstallation(config.dataDir, 'fill');
    const administration = openAdministration(config, folder, testMachine);
    await administration.firstStart.open();
    await administration.close();
    await close();
  } finally {
    process.umask(umask);
  }
}
