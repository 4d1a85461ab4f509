/** Prepares a copied data file for another machine. */
import { rmSync } from 'node:fs';
import { open } from 'lmdb';

const emptyName = 'copied';

/**
 * Makes the newest transaction of a copied file the one that every machine opens: commits once more, without content.
 *
 * After a reboot lmdb-js goes back to the newest commit that the disk has confirmed; it compares the boot's id in the
 * file. On another machine a copy would go back too, to commits whose pages the writer may have reused during the
 * copy. A confirmed commit on top prevents that.
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
