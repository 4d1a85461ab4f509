/**
 * Compares running cores at one moment: freezes all, copies their files and resumes them. A copy is what a kill would
 * leave, which a store can open.
 */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { withStores } from '../../crash/comparison.ts';
import { pause } from '../../support/process.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import type { ServiceNode } from './node.ts';

export interface Equality {
  /** Milliseconds from the call; undefined where they did not become equal. */
  readonly ms: number | undefined;
  /** What differed last. */
  readonly differences: readonly string[];
}

const betweenMs = 200;
const copiesName = 'copies';
/** Tables of management.mdb that each core writes for itself. */
const localTables: ReadonlySet<string> = new Set(['cluster', 'installation']);

/** Resolves when all have the same tables, and count all that was answered, all the same. Else the last copies stay. */
export async function becomeEqual(
  cores: readonly ServiceNode[],
  folder: string,
  answered: number,
  msMax: number,
): Promise<Equality> {
  const startedMs = performance.now();
  const root = join(folder, copiesName);
  for (;;) {
    const differences = await differencesOf(copied(cores, root), answered);
    const ms = performance.now() - startedMs;
    const isEqual = differences.length === 0;
    if (isEqual || ms > msMax) {
      if (isEqual) rmSync(root, { recursive: true });
      return { ms: isEqual ? ms : undefined, differences };
    }
    await pause(betweenMs);
  }
}

interface Copy {
  readonly name: string;
  readonly dataDir: string;
  readonly dataFile: string;
}

function copied(cores: readonly ServiceNode[], root: string): readonly Copy[] {
  rmSync(root, { recursive: true, force: true });
  for (const core of cores) core.pause();
  const copies = cores.map(({ name, dataDir }) => {
    const [from, to] = [openDataFolder(dataDir), openDataFolder(join(root, name))];
    mkdirSync(to.path, { recursive: true });
    copyFileSync(from.managementFile, to.managementFile);
    copyFileSync(from.scansFile, to.scansFile);
    return { name, dataDir: to.path, dataFile: to.managementFile };
  });
  for (const core of cores) core.resume();
  return copies;
}

async function differencesOf(copies: readonly Copy[], answered: number): Promise<string[]> {
  const totals = await Promise.all(copies.map(({ dataDir }) => countedIn(dataDir)));
  const uncounted = copies.flatMap(({ name }, at) => {
    const counted = [...totals[at]!.values()].reduce((sum, one) => sum + one, 0);
    return counted < answered ? [`${name} counts ${counted} scans of ${answered} answered`] : [];
  });
  return [...(await differing(copies)), ...uncounted, ...unequal(copies, 'totals', totals)];
}

/** All tables must have the same bytes under the same keys. @returns what differs */
async function differing(copies: readonly Copy[]): Promise<string[]> {
  const files = copies.map(({ dataFile }) => new StoredBytes(dataFile));
  const records = files.map(recordsOf);
  for (const file of files) await file.close();
  return unequal(copies, 'records', records);
}

function recordsOf(file: StoredBytes): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (const table of file.tables.filter((name) => !localTables.has(name))) {
    for (const key of file.keys(table)) {
      records.set(`${table} ${key.toString('hex')}`, file.bytes(table, key).toString('hex'));
    }
  }
  return records;
}

/** Scans of people, by the number of the code. */
async function countedIn(dataDir: string): Promise<ReadonlyMap<number, number>> {
  return await withStores(dataDir, ({ management, queries }) => {
    const totals = new Map<number, number>();
    for (const { key } of management.codes.range({})) {
      totals.set(key, queries.analytics.lifetimeScans(key));
    }
    return totals;
  });
}

/** Of each copy, by key. @returns in what another differs from the first */
function unequal<Key extends string | number, Value>(
  copies: readonly Copy[],
  what: string,
  values: ReadonlyArray<ReadonlyMap<Key, Value>>,
): string[] {
  const [first, ...others] = values;
  return others.flatMap((other, at) => {
    const keys = [...new Set([...first!.keys(), ...other.keys()])];
    const differ = keys.filter((key) => first!.get(key) !== other.get(key));
    if (differ.length === 0) return [];
    const names = `${copies[0]!.name} and ${copies[at + 1]!.name}`;
    return [`${names} differ in ${differ.length} ${what} of ${keys.length}, such as ${differ[0]!}`];
  });
}
