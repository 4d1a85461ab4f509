/**
 * Looks at the stores before LMDB opens them: LMDB maps its files, and ends the process without a word where one is
 * cut off or overwritten, or where the disk is too full for a new one.
 *
 * A file of up to 64 MiB is read whole (0.1 s). Of a larger one: the free list, the branch pages of every table,
 * and the tables that a start reads or that are small; the rest is `quietzone verify`'s. At 100,000 codes, with a
 * management.mdb of 121 MB, that is 26 MB.
 * A file of 0 bytes, or a missing one, is left to what compares the parts of the folder.
 */
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemErrorCode } from '../model/failure.ts';
import type { DataFileFault } from '../store/data-file/format.ts';
import { walkDataFile, type WalkOptions } from '../store/data-file/walk.ts';
import { freeBytes } from '../store/space-guard.ts';
import { walkSnapshot } from '../store/snapshot-walk.ts';
import { type DataFolder, DataFolderError } from './data-folder.ts';

/** Read whole up to here: longer, and a start would be slower for it. */
const wholeBytesMax = 67_108_864;
/** Of a larger file, tables of up to so many leaf pages (4 MiB) are read whole too. */
const smallTablePages = 1_024;
/** Read by every start in full, however large: short links point into it. */
const startTables: ReadonlySet<string> = new Set(['links']);
/** New stores, journals and what an hour writes; with less, the first start would soon stop. */
const firstStartBytes = 8_388_608;
const mebibyte = 1_048_576;
/** LMDB maps its lock file, which is sparse: its first page must be on the disk. */
const lockPageBytes = 4_096;
const probeBytes = 65_536;

/**
 * quick = the pages that lead to all others, for a command beside a running service;
 * start = what the comment above says.
 */
export type StartScope = 'quick' | 'start';

/** The data files that have content. */
export const storesOf = ({ managementFile, scansFile, deliveryFile }: DataFolder): string[] =>
  [managementFile, scansFile, deliveryFile].filter((file) => bytesOf(file) > 0);

const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function optionsFor(file: string, scope: StartScope): WalkOptions {
  if (scope === 'quick') return { readsLeaves: () => false };
  if (bytesOf(file) <= wholeBytesMax) return {};
  return {
    readsLeaves: (table, leafPages) => leafPages <= smallTablePages || startTables.has(table),
  };
}

/** What is wrong with the stores, as far as a start looks. */
export function findDataFileFaults(folder: DataFolder, scope: StartScope): DataFileFault[] {
  return storesOf(folder).flatMap((file) => {
    try {
      const options = optionsFor(file, scope);
      const { faults, isStable } = walkDataFile(file, options);
      return faults.length === 0 || isStable ? faults : walkSnapshot(file, options).faults;
    } catch (error) {
      const text = `cannot be read: ${systemErrorCode(error)}`;
      return [{ file, page: 0, table: '', text }];
    }
  });
}

/** As a line for an operator: `scans.mdb is damaged: page 17 (table days) is all zeros`. */
export function dataFileFaultText(fault: DataFileFault): string {
  return `${basename(fault.file)} is damaged: ${dataFileFaultReason(fault)}`;
}

/** The same without the file: `page 17 (table days) is all zeros`. */
export function dataFileFaultReason({ page, table, text }: DataFileFault): string {
  return `page ${page}${placeOf(table)} ${text}`;
}

function placeOf(table: string): string {
  if (table === '') return '';
  return table === 'free list' || table === 'tables' ? ` (${table})` : ` (table ${table})`;
}

/**
 * LMDB makes files by writing to a map, and ends the process where the disk cannot hold them.
 * @throws DataFolderError
 */
export function assertStoreSpace(folder: DataFolder): void {
  const isFirst = bytesOf(folder.managementFile) === 0;
  const needed = isFirst ? firstStartBytes : probeBytes;
  const hasLocks = storesOf(folder).every((file) => {
    const lock = statSync(`${file}-lock`, { throwIfNoEntry: false });
    return lock !== undefined && lock.blocks * 512 >= lockPageBytes;
  });
  // Data that is there is opened on a full disk too: redirects go on.
  if ((!isFirst && hasLocks) || hasSpace(folder.path, needed)) return;
  const free = Math.floor(freeBytes(folder.path) / mebibyte);
  const wanted = Math.ceil(needed / mebibyte);
  throw new DataFolderError(
    `Cannot open data folder ${folder.path}: its disk has ${free} MiB free, or a quota is used up; ` +
      `${isFirst ? 'a first start needs' : 'the stores need'} ${wanted} MiB. Free some space, or set dataDir (QZ_DATA_DIR)`,
  );
}

/** Free space alone says nothing of quotas and limits: some is written, too. */
function hasSpace(folder: string, bytes: number): boolean {
  if (freeBytes(folder) < bytes) return false;
  const path = join(folder, 'space.trial');
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'w', 0o600);
    return writeSync(descriptor, new Uint8Array(probeBytes)) === probeBytes;
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
    rmSync(path, { force: true });
  }
}
