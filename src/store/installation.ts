/**
 * The mark of an installation, in the table `installation` of each environment: of which data folder a file is, and which
 * start wrote it last. app/folder/ compares marks.
 *
 *   mark                          [id, run, token, previous, state]      a row is a list of strings
 *   visitor.key                   [SHA-256]                              management.mdb
 *   signing-keys.json/<kid>       [SHA-256 of the secret]                management.mdb
 */
import type { StoreEnvironment, Table } from './environment.ts';

export interface ManagementMark {
  /** Random, made at the first start. */
  readonly id: string;
  /** Starts so far. */
  readonly run: number;
  /** Random, made by each start: two copies of a folder that are both used differ in it. */
  readonly token: string;
  /** Token of the previous run; empty in the first. */
  readonly previous: string;
  /** Counts in management.mdb alone, as `previous` does. */
  readonly state: InstallationState;
}

/**
 *   new        the first start is not finished: parts may be missing
 *   opening    a start is marking the parts: each has its token or the previous one
 *   opened     every part has the token
 */
type InstallationState = 'new' | 'opening' | 'opened';

type InstallationTable = Table<string, readonly string[]>;

const tableName = 'installation';
const markKey = 'mark';
const states: readonly InstallationState[] = ['new', 'opening', 'opened'];

/** Undefined without a mark; makes no table. */
export function readManagementMark(environment: StoreEnvironment): ManagementMark | undefined {
  const row = existingTable(environment)?.get(markKey);
  if (row === undefined) return undefined;
  const [id = '', run, token = '', previous = '', state] = row;
  const known = states.find((name) => name === state) ?? 'opened';
  return { id, run: Number(run), token, previous, state: known };
}

/** Survives the death of the process at once, a power loss after `flush`. */
export async function writeMark(
  environment: StoreEnvironment,
  mark: ManagementMark,
): Promise<void> {
  const table = openInstallationTable(environment);
  const { id, run, token, previous, state } = mark;
  await environment.transaction(() =>
    table.put(markKey, [id, String(run), token, previous, state]),
  );
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
