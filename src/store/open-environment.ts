/**
 * Opens an environment of the data version that this program writes.
 *
 * Newer data is refused, older data is migrated. Each step and its version number share a transaction. A step must not run
 * on one node of a cluster alone: the nodes share a log of the bytes of records.
 *
 *   meta   "schema"   the version
 */
import { Failure } from '../model/failure.ts';
import { DataFileError } from './damage.ts';
import { type OpenMode, StoreEnvironment, type Table } from './environment.ts';
import { openTwinTable } from './twin-table.ts';

/** Raises the data by one version, inside a transaction. */
type Migration = (environment: StoreEnvironment) => void;

export interface EnvironmentVersion {
  readonly version: number;
  /** The step at `index` raises data of version `index + 1`. */
  readonly migrations: readonly Migration[];
}

const versionKey = 'schema';

/** @throws Error with a message for the operator if a newer program wrote the data */
export function openEnvironment(
  path: string,
  expected: EnvironmentVersion,
  mode: OpenMode = 'existing',
): { readonly environment: StoreEnvironment; readonly meta: Table<string, number> } {
  const environment = new StoreEnvironment(path, mode);
  try {
    const meta = openMeta(environment);
    // A file that was created but never opened by its module has no version: it reads as empty.
    if (mode !== 'read' || meta.get(versionKey) !== undefined) migrate(environment, meta, expected);
    return { environment, meta };
  } catch (error) {
    void environment.close();
    if (!(error instanceof Failure) || error.code !== 'data_damaged') throw error;
    throw new Error(
      `Cannot open ${path}: ${environment.damage.newest?.table ?? 'a table'} has a damaged record, expected none; ` +
        'run quietzone verify, or restore a backup',
      { cause: error },
    );
  }
}

/** The version of a file's data, or undefined; migrates nothing. @throws Failure data_damaged */
export function storedVersion(environment: StoreEnvironment): number | undefined {
  return environment.hasTable('meta') ? openMeta(environment).get(versionKey) : undefined;
}

export const openMeta = (environment: StoreEnvironment): Table<string, number> =>
  openTwinTable(environment, 'meta');

function migrate(
  environment: StoreEnvironment,
  meta: Table<string, number>,
  { version, migrations }: EnvironmentVersion,
): void {
  // Reads first, so that a service on a full disk still starts and redirects.
  const found =
    meta.get(versionKey) ??
    environment.transactionSync(() => {
      const stored = meta.get(versionKey);
      if (stored === undefined) meta.put(versionKey, version);
      return stored ?? version;
    });
  if (found > version) {
    throw new DataFileError(
      `Cannot open ${environment.path}: its data has version ${found}, expected ${version} or older; ` +
        'start a newer Quietzone, or restore a backup made by this one',
    );
  }
  for (let from = found; from < version; from++) {
    const step = migrations[from - 1];
    if (step === undefined) throw new Error(`Cannot migrate from version ${from}: no such step`);
    environment.transactionSync(() => {
      // Another process may have run the step while this one waited for the lock.
      if (meta.get(versionKey) !== from) return;
      step(environment);
      meta.put(versionKey, from + 1);
    });
  }
}
