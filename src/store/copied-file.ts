/** What a copied data file needs before another machine opens it. */
import { rmSync } from 'node:fs';
import { open } from 'lmdb';

/** No table has it. */
const emptyName = 'copied';

/**
 * Makes the newest transaction of a copied file the one that every machine opens.
 *
 * A commit that the disk has not confirmed stands only until the machine boots again: lmdb-js compares the boot's
 * id in the file, and goes back to the newest confirmed commit. A copy has the same marks, so on another machine
 * it went back to commits whose pages the writer may have used again while it was copied. One more commit,
 * confirmed and without content, makes the copied ones stand.
 */
export async function keepNewest(path: string): Promise<void> {
  const root = open({ path, noSubdir: true, overlappingSync: false });
  try {
    root.transactionSync(() => {
      root.putSync(emptyName, 0);
      root.removeSync(emptyName);
    });
  } finally {
    await root.close();
    rmSync(`${path}-lock`, { force: true });
  }
}
