/**
 * Opens an environment whose data has the version that this program writes.
 *
 * Older data is migrated step by step, each step in one transaction together with its version number, so a
 * kill midway repeats that step only. Newer data is refused, and so is older data that a node of a cluster shares with
 * the others: entries of their log are bytes of records, so one node alone must not change the format of its own.
 *
 *   meta   the version's key   number, without a checksum: an older program must be able to read it and refuse
 *          checksums           1: every other record has one (checksum.ts)
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../model/failure.ts';
import { DataFileError } from './data-file-error.ts';
import { type OpenMode, StoreEnvironment, type Table } from './environment.ts';

/** Beside the data of a node of a cluster, and of no other machine (cluster/nodes/node-file.ts). */
export const nodeFileName = 'cluster.json';

/** Made where a log decides about the data, and says how far it is read (cluster/log/environment-store.ts). */
export const logTable = 'cluster';

/** Lifts the data by one version, inside a transaction. */
export type Migration = (environment: StoreEnvironment) => void;

/** Called with the records of older data that were handled so far. */
export type OnMigrated = (records: number) => void;

export interface EnvironmentVersion {
  /** The layout that this program writes. */
  readonly version: number;
  /** The step at `index` lifts data of version `index + 1`. */
  readonly migrations: readonly Migration[];
  /**
   * Called first with older data, for what is too much for one transaction: writes beside it, and may be called again.
   * Only a process that has locked the data folder may open it then.
   */
  readonly prepare?: (environment: StoreEnvironment, onMigrated: OnMigrated) => void;
  /** Where the version stands in the table `meta`; default `schema`. */
  readonly versionKey?: string;
  /** In a cluster the data is what a log has: it is not migrated there. */
  readonly isShared?: true;
}

/** Of `meta`: set when every record of the environment has a checksum. */
export const checksumsKey = 'checksums';

/** Changes nothing: from this version on records may have checksums, which older programs cannot read. */
export const checksumsFromHere: Migration = () => undefined;

/** @throws Error with a text for the operator when the data was written by a newer program */
export function openEnvironment(
  path: string,
  expected: EnvironmentVersion,
  mode: OpenMode = 'existing',
  onMigrated: OnMigrated = () => undefined,
): { readonly environment: StoreEnvironment; readonly meta: Table<string, number> } {
  const environment = new StoreEnvironment(path, mode);
  try {
    const versionKey = expected.versionKey ?? 'schema';
    const meta = openMeta(environment);
    // One that was made, and never opened by its module, has none: for a reader it is empty.
    if (mode !== 'read' || meta.get(versionKey) !== undefined) {
      migrate(environment, meta, { ...expected, versionKey }, onMigrated);
    }
    // Damaged, it says that there were checksums.
    if (meta.get(checksumsKey, () => 1) === 1) environment.requireChecksums();
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

/** The version of a file's data; undefined without one. Migrates nothing. */
export function storedVersion(
  environment: StoreEnvironment,
  { versionKey = 'schema' }: EnvironmentVersion,
): number | undefined {
  if (!environment.hasTable('meta')) return undefined;
  return openMeta(environment).get(versionKey);
}

/** The keys of the version in the three environments. */
const plainKeys = ['schema', 'schemaVersion'];

export const openMeta = (environment: StoreEnvironment): Table<string, number> =>
  environment.table('meta', { plainKeys });

function migrate(
  environment: StoreEnvironment,
  meta: Table<string, number>,
  expected: EnvironmentVersion & { versionKey: string },
  onMigrated: OnMigrated,
): void {
  const { version, migrations, prepare, versionKey } = expected;
  // Read first: a service on a full disk still starts, and redirects.
  const found =
    meta.get(versionKey) ??
    environment.transactionSync(() => {
      const stored = meta.get(versionKey);
      if (stored !== undefined) return stored;
      meta.put(versionKey, version);
      meta.put(checksumsKey, 1);
      return version;
    });
  if (found > version) {
    throw new DataFileError(
      `Cannot open ${environment.path}: its data has version ${found}, expected ${version} or older; ` +
        'start a newer Quietzone, or restore a backup made by this one',
    );
  }
  if (found < version) {
    if (expected.isShared === true) assertNotFollowing(environment, found, version);
    prepare?.(environment, onMigrated);
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

/** An edge has none of the log, and a machine alone may have the data of a former node. @throws DataFileError */
function assertNotFollowing(environment: StoreEnvironment, found: number, version: number): void {
  const { path } = environment;
  if (!existsSync(join(dirname(path), nodeFileName)) || !environment.hasTable(logTable)) return;
  throw new DataFileError(
    `Cannot open ${path}: its data has version ${found}, and this release writes version ${version}. The folder is of a ` +
      "node of a cluster, and a cluster's data cannot be migrated yet: one node alone must not change the format of " +
      'what its log shares with the others. Nothing was changed: start the release that this node ran before, on every ' +
      'node. To change to this release, stop all nodes, `quietzone backup` the core that led last with its former ' +
      'release, `quietzone restore` that into another folder, start it once on a machine alone, which migrates it, and ' +
      '`quietzone cluster adopt` it for a new cluster',
  );
}
