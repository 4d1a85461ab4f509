/**
 * Checks the stores before LMDB opens them. LMDB maps its files, and silently ends the process if one is truncated or
 * overwritten, or if the disk is too full for a new one.
 *
 * A file of up to 64 MiB is read completely (0.1 s). In a larger file, a start reads the free list, the branch pages of
 * every table, small tables and the links; `quietzone verify` reads the rest. At 100,000 codes, with a management.mdb
 * of 121 MB, that is 26 MB. For empty and missing files see app/folder/folder-faults.ts.
 */
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import {
  type DataFileFault,
  walkDataFile,
  type WalkOptions,
  walkSnapshot,
} from '../../store/data-file/walk.ts';
import { freeBytes } from '../../store/space-guard.ts';
import { type DataFolder, DataFolderError } from './data-folder.ts';

const wholeBytesMax = 67_108_864;
/** 4 MiB of leaf pages: tables up to this size are always read completely. */
const smallTablePages = 1_024;
const startTable = 'links';
const firstStartBytes = 8_388_608;
const mebibyte = 1_048_576;
/** The first page of LMDB's sparse lock file must be on the disk. */
const lockPageBytes = 4_096;
const probeBytes = 65_536;

/** quick = small tables and branch pages only, for a command while a service runs. */
export type StartScope = 'quick' | 'start';

export const storesOf = ({ managementFile, scansFile, deliveryFile }: DataFolder): string[] =>
  [managementFile, scansFile, deliveryFile].filter((file) => bytesOf(file) > 0);

export const bytesOf = (file: string): number =>
  statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function optionsFor(file: string, scope: StartScope): WalkOptions {
  const isStart = scope === 'start';
  if (isStart && bytesOf(file) <= wholeBytesMax) return {};
  return {
    readsLeaves: (table, leafPages) =>
      leafPages <= smallTablePages || (isStart && table === startTable),
  };
}

export function findDataFileFaults(folder: DataFolder, scope: StartScope): DataFileFault[] {
  return storesOf(folder).flatMap((file) => {
    try {
      const options = optionsFor(file, scope);
      const { fault, isStable } = walkDataFile(file, options);
      const found = fault === undefined || isStable ? fault : walkSnapshot(file, options).fault;
      return found ?? [];
    } catch (error) {
      return [{ file, text: `it cannot be read: ${systemErrorCode(error)}` }];
    }
  });
}

export const quickFaults = (folder: DataFolder): string[] =>
  findDataFileFaults(folder, 'quick').map(
    ({ file, text }) => `${basename(file)} is damaged: ${text}`,
  );

/** LMDB makes files by writing to a map, and ends the process if the disk is full. @throws DataFolderError */
export function assertStoreSpace(folder: DataFolder): void {
  const isFirst = bytesOf(folder.managementFile) === 0;
  const needed = isFirst ? firstStartBytes : probeBytes;
  const hasLocks = storesOf(folder).every((file) => {
    const lock = statSync(`${file}-lock`, { throwIfNoEntry: false });
    return lock !== undefined && lock.blocks * 512 >= lockPageBytes;
  });
  // Existing data opens on a full disk too: redirects must work.
  if ((!isFirst && hasLocks) || hasSpace(folder.path, needed)) return;
  const free = Math.floor(freeBytes(folder.path) / mebibyte);
  const wanted = Math.ceil(needed / mebibyte);
  throw new DataFolderError(
    `Cannot open data folder ${folder.path}: its disk has ${free} MiB free, or a quota is used up; ` +
      `${isFirst ? 'a first start needs' : 'the stores need'} ${wanted} MiB. Free some space, or set dataDir (QZ_DATA_DIR)`,
  );
}

/** Also writes some bytes: free space does not include quotas and limits. */
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
