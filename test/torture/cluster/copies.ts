/**
 * Compares running cores at one moment: freezes all, copies their files and resumes them. A copy is what a kill would
 * leave, which a store can open.
 */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder } from '../../../src/app/folder/data-folder.ts';
import { pause } from '../../support/process.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { withStores } from '../stores.ts';
import type { ServiceNode } from './node.ts';

export type Equality = Awaited<ReturnType<typeof becomeEqual>>;
type Copy = Awaited<ReturnType<typeof readCopy>>;

const betweenMs = 200;
/** Tables of management.mdb that each core writes for itself. */
const localTables: ReadonlySet<string> = new Set(['cluster', 'installation']);

/**
 * Resolves when all have the same tables, and count all that was answered, all the same. Else the last copies stay.
 * @returns milliseconds from the call, undefined where they did not become equal; and what differed last
 */
export async function becomeEqual(
  cores: readonly ServiceNode[],
  folder: string,
  answered: number,
  msMax: number,
) {
  const startedMs = performance.now();
  const root = join(folder, 'copies');
  for (;;) {
    copyFiles(cores, root);
    const copies = await Promise.all(cores.map(({ name }) => readCopy(root, name)));
    const differences = [
      ...unequal(copies, 'records'),
      ...unequal(copies, 'totals'),
      ...copies
        .filter(({ counted }) => counted < answered)
        .map(({ name, counted }) => `${name} counts ${counted} scans of ${answered} answered`),
    ];
    const ms = performance.now() - startedMs;
    const isEqual = differences.length === 0;
    if (isEqual) rmSync(root, { recursive: true });
    if (isEqual || ms > msMax) return { ms: isEqual ? ms : undefined, differences };
    await pause(betweenMs);
  }
}

function copyFiles(cores: readonly ServiceNode[], root: string): void {
  rmSync(root, { recursive: true, force: true });
  for (const core of cores) core.pause();
  for (const { name, dataDir } of cores) {
    const [from, to] = [openDataFolder(dataDir), openDataFolder(join(root, name))];
    mkdirSync(to.path, { recursive: true });
    copyFileSync(from.managementFile, to.managementFile);
    copyFileSync(from.scansFile, to.scansFile);
  }
  for (const core of cores) core.resume();
}

/** Records: bytes by table and key. Totals: scans of people by the number of the code. */
async function readCopy(root: string, name: string) {
  const dataDir = join(root, name);
  const records = new Map<string, string>();
  const file = new StoredBytes(openDataFolder(dataDir).managementFile);
  for (const table of file.tables.filter((one) => !localTables.has(one))) {
    for (const key of file.keys(table)) {
      records.set(`${table} ${key.toString('hex')}`, file.bytes(table, key).toString('hex'));
    }
  }
  await file.close();
  const scans = await withStores(dataDir, ({ codes, analytics }) =>
    codes.map(({ no }) => [String(no), analytics.lifetimeScans(no)] as const),
  );
  const totals = new Map(scans.map(([no, count]) => [no, String(count)]));
  return { name, records, totals, counted: scans.reduce((sum, [, count]) => sum + count, 0) };
}

/** @returns in what another differs from the first */
function unequal([first, ...others]: readonly Copy[], what: 'records' | 'totals'): string[] {
  return others.flatMap((other) => {
    const keys = [...new Set([...first![what].keys(), ...other[what].keys()])];
    const differ = keys.filter((key) => first![what].get(key) !== other[what].get(key));
    if (differ.length === 0) return [];
    const names = `${first!.name} and ${other.name}`;
    return [`${names} differ in ${differ.length} ${what} of ${keys.length}, such as ${differ[0]!}`];
  });
}
