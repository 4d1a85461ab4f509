/**
 * Remembers of which files a kept table of places was made, so that a start need not read 140 MB to find it again:
 *
 *     size, inode and times of each file and of the table ─ all as remembered ─▶ the table
 *                                                          └ anything else ───▶ the files are hashed (table-file.ts)
 *
 * File systems keep the time of a change in steps, so files that changed just before they were read are not remembered; the
 * next start hashes them once more.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  type FileState,
  type FoundFiles,
  geoNames,
  stateOf,
} from '../scans/visitor/geo/table-file.ts';
import { tableVersion } from '../scans/visitor/geo/table-layout.ts';
import { shipped } from '../shipped.ts';
import { replaceFile } from './small-files.ts';

/** The coarsest steps are those of FAT, 2 s; clocks of kernels lag some ms. */
const settledMs = 3_000;

/** Of all files, for this release; undefined where one cannot be found. */
export function stateOfFiles(found: FoundFiles): FileState | undefined {
  try {
    const files = geoNames.map(
      (name) => found[name] && { ...found[name], ...stateOf(found[name].path) },
    );
    return {
      text: JSON.stringify([shipped.version, tableVersion, files]),
      changedMs: Math.max(...files.map((file) => file?.changedMs ?? 0)),
    };
  } catch {
    return undefined;
  }
}

const fileIn = (folder: string): string => join(folder, 'known');

/** Path of the table of these files; undefined where it has to be looked for, or made. */
export function findKnownTable({ text }: FileState, folder: string): string | undefined {
  try {
    const [files, name = '', made] = readFileSync(fileIn(folder), 'utf8').split('\n');
    const table = join(folder, basename(name));
    return files === text && made === stateOf(table).text ? table : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param files as they were before they were read
 * @param readMs when that was
 */
export function rememberTable(
  table: string,
  files: FileState,
  readMs: number,
  folder: string,
): void {
  if (readMs - files.changedMs < settledMs) return;
  try {
    const known = [files.text, basename(table), stateOf(table).text];
    replaceFile(fileIn(folder), known.join('\n'));
  } catch {
    // The next start hashes the files.
  }
}
