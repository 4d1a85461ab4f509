/** Makes the newest transaction of a copied data file the one that every machine opens. */
import { rmSync } from 'node:fs';
import { open } from 'lmdb';

const emptyName = 'copied';

/**
 * Commits once more, without content. After a reboot, and on another machine, lmdb-js goes back to the newest commit that
 * the disk has confirmed, whose pages the writer may have reused during the copy. A confirmed commit on top prevents that.
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
