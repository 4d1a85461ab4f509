/**
 * The mark of an installation, in the table `installation` of each environment: which data folder a file is of, and
 * which start wrote it last. engine/installation/ says what marks fit together.
 *
 *   mark                          [id, run, token]                       scans.mdb, delivery.mdb
 *   mark                          [id, run, token, previous, state]      management.mdb
 *   visitor.key                   [SHA-256]                              management.mdb
 *   signing-keys.json/<kid>       [SHA-256 of the secret]                management.mdb
 *
 * Numbers are written as text: a row is a list of strings.
 */
import type { StoreEnvironment, Table } from './environment.ts';

/** Of one start ("run") of one installation. */
export interface Mark {
  /** Random, made at the first start. */
  readonly id: string;
  /** Starts so far. */
  readonly run: number;
  /** Random, made by this start: two copies of a folder that both go on differ in it. */
  readonly token: string;
}

/**
 *   new        the first start is not finished: parts may be missing
 *   opening    a start is marking the parts: each has its token or the previous one
 *   opened     every part has the token
 */
export type InstallationState = 'new' | 'opening' | 'opened';

export interface ManagementMark extends Mark {
  /** Token of the run before, empty before the second. */
  readonly previous: string;
  readonly state: InstallationState;
}

type InstallationTable = Table<string, readonly string[]>;

const tableName = 'installation';
const markKey = 'mark';
const states: readonly InstallationState[] = ['new', 'opening', 'opened'];

/** Undefined without a mark; makes no table. */
export function readMark(environment: StoreEnvironment): Mark | undefined {
  const row = existingTable(environment)?.get(markKey);
  return row && { id: row[0] ?? '', run: Number(row[1]), token: row[2] ?? '' };
}

export function readManagementMark(environment: StoreEnvironment): ManagementMark | undefined {
  const mark = readMark(environment);
  const row = existingTable(environment)?.get(markKey) ?? [];
  const state = states.find((known) => known === row[4]);
  return mark && { ...mark, previous: row[3] ?? '', state: state ?? 'opened' };
}

/** Survives the death of the process at once, a loss of power after `flush`. */
export async function writeMark(
  environment: StoreEnvironment,
  mark: Mark | ManagementMark,
): Promise<void> {
  const table = openInstallationTable(environment);
  const { id, run, token } = mark;
  const more = 'state' in mark ? [mark.previous, mark.state] : [];
  await environment.transaction(() => table.put(markKey, [id, String(run), token, ...more]));
}

/** SHA-256, base64url, by name: `visitor.key`, `signing-keys.json/<kid>`. */
export function readKeyPrints(environment: StoreEnvironment): Map<string, string> {
  const rows = existingTable(environment)?.range({}, () => undefined) ?? [];
  const prints = [...rows].filter(({ key }) => key !== markKey);
  return new Map(prints.map(({ key, value: [print = ''] }) => [key, print]));
}

/** Of a copy whose keys come by another way. Resolves when it survives a loss of power. */
export async function removeKeyPrints(environment: StoreEnvironment): Promise<void> {
  const table = existingTable(environment);
  const names = [...readKeyPrints(environment).keys()];
  await environment.transaction(() => {
    for (const name of names) table?.remove(name);
  });
  await environment.flush();
}

/** Inside a transaction. */
export function putKeyPrint(table: InstallationTable, name: string, print: string): void {
  table.put(name, [print]);
}

/** Makes the table if it is missing: outside a transaction. */
export function openInstallationTable(environment: StoreEnvironment): InstallationTable {
  return environment.table(tableName);
}

function existingTable(environment: StoreEnvironment): InstallationTable | undefined {
  return environment.hasTable(tableName) ? openInstallationTable(environment) : undefined;
}
