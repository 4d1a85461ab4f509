/**
 * Opens an environment whose data has the version that this program writes.
 *
 * Older data is migrated step by step, each step in one transaction together with its version number, so a
 * kill midway repeats that step only. Newer data is refused.
 */
import { StoreEnvironment, type Table } from './environment.ts';

/** Lifts the data by one version, inside a transaction. */
export type Migration = (environment: StoreEnvironment) => void;

export interface EnvironmentVersion {
  /** The layout that this program writes. */
  readonly version: number;
  /** The step at `index` lifts data of version `index + 1`. */
  readonly migrations: readonly Migration[];
  /** Where the version stands in the table `meta`; default `schema`. */
  readonly versionKey?: string;
}

/** @throws Error with a text for the operator when the data was written by a newer program */
export function openEnvironment(
  path: string,
  expected: EnvironmentVersion,
): { readonly environment: StoreEnvironment; readonly meta: Table<string, number> } {
  const environment = new StoreEnvironment(path);
  try {
    const meta: Table<string, number> = environment.table('meta');
    migrate(environment, meta, expected);
    return { environment, meta };
  } catch (error) {
    void environment.close();
    throw error;
  }
}

/** The version of a file's data; undefined without one. Migrates nothing. */
export function storedVersion(
  environment: StoreEnvironment,
  { versionKey = 'schema' }: EnvironmentVersion,
): number | undefined {
  if (!environment.hasTable('meta')) return undefined;
  return environment.table<string, number>('meta').get(versionKey);
}

function migrate(
  environment: StoreEnvironment,
  meta: Table<string, number>,
  { version, migrations, versionKey = 'schema' }: EnvironmentVersion,
): void {
  // Read first: a service on a full disk still starts, and redirects.
  const found =
    meta.get(versionKey) ??
    environment.transactionSync(() => {
      const stored = meta.get(versionKey);
      if (stored === undefined) meta.put(versionKey, version);
      return stored ?? version;
    });
  if (found > version) {
    throw new Error(
      `Cannot open ${environment.path}: its data has version ${found}, expected ${version} or older; ` +
        'start a newer Quietzone, or restore a backup made by this one',
    );
  }
  for (let from = found; from < version; from++) {
    const step = migrations[from - 1];
    if (step === undefined) throw new Error(`Cannot migrate from version ${from}: no such step`);
    environment.transactionSync(() => {
      // Looked at again: another process may have taken the step while this one waited for the lock.
      if (meta.get(versionKey) !== from) return;
      step(environment);
      meta.put(versionKey, from + 1);
    });
  }
}
