/**
 * A table of places that is made of an operator's files, once, and kept by their hash:
 *
 *     files ─ SHA-256 ─ <folder>/<key>.geo ─ there and whole ──────────────────────────────────────▶ used
 *                              └ no ─ makeTable ─ <key>.<random>.new ─ flush, rename, the old deleted ─▶ used
 *                                                      └ cannot be written: made in memory
 *
 * What is no mmdb file, or cannot be read, is left out and named. Where that shows only while the table is made, the table
 * stays in memory, and the next start makes it again. The key covers the release, so that no other's table is read.
 * A file that changes meanwhile may be read in part before and in part after: then all is done again.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../../model/failure.ts';
import { type FilePart, type GeoName, shipped } from '../../../shipped.ts';
import { Mmdb } from './mmdb.ts';
import { type GeoSource, SourceError } from './networks.ts';
import { magic, tableVersion } from './table-layout.ts';
import { makeTable } from './table-maker.ts';
import { draftEnding, FileOutput, MemoryOutput } from './table-output.ts';
import { TableSource } from './table-source.ts';
import { checkTable } from './table-units.ts';

/** Paths of mmdb files: `bundled` = the databases shipped with Quietzone, empty = none. */
export type GeoFiles = Readonly<Record<GeoName, string>>;

export const geoNames = ['countryFile', 'cityFileV4', 'cityFileV6'] as const;

/** The files, by their settings, with the paths that the operator knows. */
export type FoundFiles = Partial<Readonly<Record<GeoName, FilePart & { readonly named: string }>>>;

export interface MadeTable {
  /** A file; its bytes where it could not be written; undefined where no file can be used. */
  readonly table: string | SharedArrayBuffer | undefined;
  readonly warnings: readonly string[];
}

export interface FileState {
  /** One line. */
  readonly text: string;
  /** Of the last change, in ms since the Unix epoch. */
  readonly changedMs: number;
}

/** A file has changed since it was opened. */
class ChangedError extends Error {}

const hashedBytes = 1 << 20;
const keyDigits = 32;
/** A draft that is older was left by a process that died. */
const draftMsMax = 3_600_000;

/** Where the files are; of those that cannot be found, warnings. */
export function findFiles(files: GeoFiles): { found: FoundFiles; warnings: string[] } {
  const warnings: string[] = [];
  const found: Partial<Record<GeoName, FilePart & { named: string }>> = {};
  for (const name of geoNames) {
    const path = files[name];
    if (path === '') continue;
    try {
      const part = path === 'bundled' ? shipped.geoFile(name) : { path };
      found[name] = { ...part, named: path };
    } catch (error) {
      warnings.push(unusable(name, path, error));
    }
  }
  return { found, warnings };
}

/** Opens each file, and makes nothing. @returns a sentence for each that cannot be used */
export function checkFiles(files: GeoFiles): string[] {
  const { found, warnings } = findFiles(files);
  for (const name of geoNames) {
    const part = found[name];
    if (part === undefined) continue;
    try {
      openSource(name, part).close();
    } catch (error) {
      warnings.push(unusable(name, part.named, error));
    }
  }
  return warnings;
}

const unusable = (name: GeoName, path: string, error: unknown): string =>
  `Cannot use geo.${name} ${path}: ${reasonOf(error)}; places it would name are unknown`;

export const reasonOf = (error: unknown): string => messageOf(error).split('\n', 1)[0]!;

/**
 * Programs cannot set the time of change (ctime): every write, rename and new mode takes the present.
 * @throws Error of the system
 */
export function stateOf(path: string): FileState {
  const { size, ino, mtimeNs, ctimeNs, ctimeMs } = statSync(path, { bigint: true });
  return { text: [size, ino, mtimeNs, ctimeNs].join(' '), changedMs: Number(ctimeMs) };
}

/** Makes it where it is not there. Never throws: what fails becomes a warning. */
export function keepTable(found: FoundFiles, folder: string): MadeTable {
  try {
    return keepUnchanged(found, folder);
  } catch (error) {
    if (!(error instanceof ChangedError)) throw error;
    return keepTable(found, folder);
  }
}

/** @throws ChangedError */
function keepUnchanged(found: FoundFiles, folder: string): MadeTable {
  const warnings: string[] = [];
  const sources = new Map<GeoName, GeoSource>();
  const states: Making['states'] = [];
  const key = createHash('sha256').update(`${shipped.version} ${tableVersion}\n`);
  for (const name of geoNames) {
    const part = found[name];
    if (part === undefined) continue;
    try {
      const state = stateIfThere(part.path);
      sources.set(name, openSource(name, part));
      states.push([part.path, state]);
      key.update(`${name} ${hashOf(part)}\n`);
    } catch (error) {
      warnings.push(unusable(name, part.named, error));
    }
  }
  try {
    if (sources.size === 0) return { table: undefined, warnings };
    const path = join(folder, `${key.digest('hex').slice(0, keyDigits)}.geo`);
    return { table: makeOf({ sources, states, found, path, warnings }), warnings };
  } finally {
    for (const source of sources.values()) source.close();
  }
}

function openSource(name: GeoName, part: FilePart): GeoSource {
  if (!isTable(part)) return Mmdb.open(part);
  return TableSource.open(part, name === 'countryFile' ? 'countries' : 'cities');
}

interface Making {
  readonly sources: Map<GeoName, GeoSource>;
  /** Of the files before they were opened. */
  readonly states: Array<readonly [path: string, state: string | undefined]>;
  readonly found: FoundFiles;
  /** Where the table is kept. */
  readonly path: string;
  readonly warnings: string[];
}

/** @throws ChangedError */
function makeOf({ sources, states, found, path, warnings }: Making): MadeTable['table'] {
  if (isWhole(path)) return path;
  let isKept = true;
  while (sources.size > 0) {
    const output = isKept ? new FileOutput(path, 0o600) : new MemoryOutput();
    try {
      makeTable(Object.fromEntries(sources), output);
      assertUnchanged(states);
      const table = output.end();
      if (isKept) deleteOthers(dirname(path), [basename(path)]);
      return table;
    } catch (error) {
      assertUnchanged(states);
      const [name] = [...sources].find(([, source]) => isOf(error, source)) ?? [];
      if (output instanceof FileOutput && output.hasFailed) {
        warnings.push(`Cannot keep the table of places: ${reasonOf(error)}; each start makes it`);
      } else if (name === undefined) {
        warnings.push(`Cannot make the table of places: ${reasonOf(error)}; places are unknown`);
        return undefined;
      } else {
        warnings.push(unusable(name, found[name]!.named, error));
        sources.get(name)!.close();
        sources.delete(name);
      }
      // Under its key a later start would look for a table of all files.
      isKept = false;
    } finally {
      output.discard();
    }
  }
  return undefined;
}

/** @throws ChangedError */
function assertUnchanged(states: Making['states']): void {
  for (const [path, state] of states) {
    // One that is gone is read to its end.
    if ((stateIfThere(path) ?? state) !== state) throw new ChangedError(path);
  }
}

function stateIfThere(path: string): string | undefined {
  try {
    return stateOf(path).text;
  } catch {
    return undefined;
  }
}

const isOf = (error: unknown, source: GeoSource): boolean =>
  error instanceof SourceError && error.source === source;

/** Whether a table is there, and not damaged. */
export function isWhole(path: string): boolean {
  try {
    checkTable({ path });
    return true;
  } catch {
    return false;
  }
}

/** Tables of other files, and what a process that died has left. @param kept names of what has just been made */
export function deleteOthers(folder: string, kept: readonly string[]): void {
  const changedMs = (name: string): number =>
    statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const madeMs = Math.max(...kept.map(changedMs));
  for (const name of readdirSync(folder)) {
    const isBeingMade = name.endsWith(draftEnding) && madeMs - changedMs(name) < draftMsMax;
    if (kept.includes(name) || isBeingMade) continue;
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function hashOf(part: FilePart): string {
  const hash = createHash('sha256');
  const bytes = new Uint8Array(hashedBytes);
  const file = openSync(part.path, 'r');
  try {
    let rest = part.size ?? Infinity;
    for (let at = part.offset ?? 0; rest > 0;) {
      const count = readSync(file, bytes, 0, Math.min(bytes.length, rest), at);
      if (count === 0) break;
      hash.update(bytes.subarray(0, count));
      at += count;
      rest -= count;
    }
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

/** Whether a table, rather than an mmdb file. */
function isTable({ path, offset = 0 }: FilePart): boolean {
  const file = openSync(path, 'r');
  try {
    const first = new Uint32Array(1);
    return readSync(file, first, 0, 4, offset) === 4 && first[0] === magic[0];
  } finally {
    closeSync(file);
  }
}
