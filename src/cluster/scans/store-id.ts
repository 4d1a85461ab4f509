/**
 * Names a scans.mdb, in its table `cluster`: blocks of scans are numbered by each core for itself, and the numbers of two
 * stores must never be taken for one another's.
 */
import type { StoreEnvironment, Table } from '../../store/environment.ts';

const key = 'store';

/** Made with a new scans.mdb. */
export function storeIdOf(environment: StoreEnvironment, makeId: () => string): string {
  const table = tableOf(environment);
  return environment.transactionSync(() => {
    const known = table.get(key, () => undefined);
    if (known !== undefined) return known;
    const made = makeId();
    table.put(key, made);
    return made;
  });
}

/** Of a copy: it goes on by itself, under a name of its own. Resolves when it survives a loss of power. */
export async function deleteStoreId(environment: StoreEnvironment): Promise<void> {
  const table = tableOf(environment);
  await environment.transaction(() => table.remove(key));
  await environment.flush();
}

const tableOf = (environment: StoreEnvironment): Table<string, string> =>
  environment.table('cluster');
