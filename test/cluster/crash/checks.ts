/** What must be true of the cores at the end of a run, when everything has healed and no client writes; each returns what is not. */
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { pause } from '../../support/process.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import type { Core } from './core.ts';
import type { Entry, Ledger } from './ledger.ts';
import type { Status } from './messages.ts';
import { Tables } from './tables.ts';

/** Resolves when all that have not stopped have replayed the same log; to undefined when they do not within `msMax`. */
export async function becomeEqual(
  cores: readonly Core[],
  msMax: number,
): Promise<Status | undefined> {
  const untilMs = performance.now() + msMax;
  for (;;) {
    const serving = cores.filter(({ stop }) => stop === undefined);
    const [first, ...others] = await Promise.all(serving.map((core) => core.status()));
    if (first !== undefined && others.every((status) => status?.chain === first.chain))
      return first;
    if (performance.now() > untilMs) return undefined;
    await pause(20);
  }
}

/** No core stops in a run whose brokers sync what they answer. */
export const stops = (cores: readonly Core[]): string[] =>
  cores.flatMap(({ name, stop }) =>
    stop === undefined ? [] : [`${name} stopped: ${stop.reason}: ${stop.detail}`],
  );

/**
 * All tables of all files have the same bytes under the same keys.
 * @param isLocal a table that is each core's own
 */
export async function differing(
  cores: readonly Pick<Core, 'name' | 'dataFile'>[],
  isLocal: (table: string) => boolean = () => false,
): Promise<string[]> {
  const files = cores.map(({ dataFile }) => new StoredBytes(dataFile));
  const [first, ...others] = files;
  const faults: string[] = [];
  for (const [at, other] of others.entries()) {
    for (const table of new Set([...first!.tables, ...other.tables])) {
      if (isLocal(table)) continue;
      const keys = [first!, other].map((file) =>
        file.keys(table).map((key) => key.toString('hex')),
      );
      const bytesDiffer = (key: string): boolean => {
        const bytes = Buffer.from(key, 'hex');
        return !first!.bytes(table, bytes).equals(other.bytes(table, bytes));
      };
      const all = [...new Set(keys.flat())];
      const differ = all.filter(bytesDiffer);
      if (differ.length === 0) continue;
      const names = `${cores[0]!.name} and ${cores[at + 1]!.name}`;
      faults.push(`${table} of ${names} differ: ${differ.length} of ${all.length}, ${differ[0]}`);
    }
  }
  for (const file of files) await file.close();
  return faults;
}

/** What was answered is there, once and whole, in the order of the numbers; what was refused is not. */
export async function wrongWrites(
  { name: core, dataFile }: Core,
  ledger: Ledger,
): Promise<string[]> {
  const environment = new StoreEnvironment(dataFile, 'existing');
  try {
    const tables = new Tables(environment);
    const values = tables.values();
    const faults = ledger.entries.flatMap((entry) => wrongWrite(entry, values, core));
    const applied: Entry['write'][] = [];
    for (const { write } of ledger.entries) {
      const value = values.get(write.name);
      if (value === undefined) continue;
      if (applied[value - 1] !== undefined) faults.push(`${value} was given twice on ${core}`);
      applied[value - 1] = write;
    }
    // The counter has counted each write once, and none that is not there.
    if (tables.count !== values.size || applied.length !== values.size) {
      return [...faults, `${values.size} writes are ${tables.count} on ${core}`];
    }
    return [...faults, ...tables.differences(applied).map((fault) => `${fault} on ${core}`)];
  } finally {
    await environment.close();
  }
}

function wrongWrite(
  { write: { name }, answer, value }: Entry,
  values: ReadonlyMap<string, number>,
  core: string,
): string[] {
  const stored = values.get(name);
  if (answer === 'done' && stored !== value) {
    return [`${name} was answered ${value}, and is ${stored} on ${core}`];
  }
  if ((answer === 'refused' || answer === 'thrown') && stored !== undefined) {
    return [`${name} was ${answer}, and is there on ${core}`];
  }
  return [];
}
