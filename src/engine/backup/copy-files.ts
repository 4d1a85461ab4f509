/**
 * Files of a backup: copied in pieces of 1 MiB, hashed on the way and synced, so that a backup of any size needs
 * little memory and one read of the source.
 *
 * What is written is synced every 4 MiB. Otherwise gigabytes wait in the system's memory, and when their time
 * comes the journals' writes wait behind them.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { metaBytes, pickMeta } from '../../store/data-file/format.ts';
import { keepNewest } from '../../store/copied-file.ts';
import { StoreEnvironment } from '../../store/environment.ts';
import { systemErrorCode } from '../../model/failure.ts';
import type { CopyDisk } from './copy-disk.ts';
import { DataFolderError } from '../data-folder.ts';

const pieceBytes = 1_048_576;
const unsyncedBytesMax = 4 * pieceBytes;
/** Two pages of the largest size. */
const startBytes = 131_072;
/** Two in a row that say the same are enough; each takes some microseconds, a commit more. */
const startReadsMax = 100;
/** Left free beside what is to be copied: folders, the manifest, and what grows meanwhile. */
const spareBytes = 1_048_576;

export interface CopiedFile {
  /** Below the folder, with `/`. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface CopyProgress {
  /** How many bytes are to be copied; said again where a copy begins anew. */
  begin(bytes: number): void;
  add(bytes: number): void;
  /** A file is complete. */
  file(name: string, bytes: number): void;
  /** All is copied: now it is read. */
  check(): void;
}

export interface ByteRange {
  readonly from: number;
  /** Excluded. */
  readonly to: number;
}

export interface Copied {
  readonly bytes: number;
  readonly sha256: string;
}

/** What is to be copied cannot be read: not the fault of the disk that is written. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** @returns undefined for a file that is not there any more @throws UnreadableError */
export async function copyFile(
  disk: CopyDisk,
  from: string,
  to: string,
  onBytes: (bytes: number) => void,
): Promise<Copied | undefined> {
  const file = await openSource(from);
  if (file === undefined) return undefined;
  try {
    return await copyHandle(disk, file, to, onBytes);
  } finally {
    await file.close();
  }
}

async function openSource(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ENOENT') return undefined;
    throw new UnreadableError(`cannot be read (${code})`);
  }
}

/**
 * Copies and syncs the file's present bytes, or a range of them.
 * @param start replaces the first bytes of the range
 * @throws UnreadableError
 */
export async function copyHandle(
  disk: CopyDisk,
  source: FileHandle,
  to: string,
  onBytes: (bytes: number) => void,
  range: ByteRange = { from: 0, to: Number.MAX_SAFE_INTEGER },
  start: Uint8Array = new Uint8Array(0),
): Promise<Copied> {
  disk.makeFolder(dirname(to));
  const file = await disk.create(to);
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(pieceBytes);
  let at = range.from;
  let unsynced = 0;
  try {
    while (at < range.to) {
      const wanted = Math.min(buffer.length, range.to - at);
      const bytesRead = await readSource(source, buffer, wanted, at);
      if (bytesRead === 0) break;
      const piece = buffer.subarray(0, bytesRead);
      if (at === range.from) piece.set(start.subarray(0, bytesRead));
      hash.update(piece);
      await file.write(piece);
      at += bytesRead;
      unsynced += bytesRead;
      onBytes(bytesRead);
      if (unsynced < unsyncedBytesMax) continue;
      await file.sync();
      unsynced = 0;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes: at - range.from, sha256: hash.digest('hex') };
}

async function readSource(
  source: FileHandle,
  buffer: Buffer,
  wanted: number,
  at: number,
): Promise<number> {
  try {
    const { bytesRead } = await source.read(buffer, 0, wanted, at);
    return bytesRead;
  } catch (error) {
    throw new UnreadableError(`cannot be read from byte ${at} on (${systemErrorCode(error)})`);
  }
}

/**
 * Copies a snapshot of a data file beside its writers. Held by a read transaction, its pages stay as they are; a
 * commit between that and the reading of the meta pages gives a newer one, which is held as well.
 * Not with LMDB's own copy: that writes as fast as memory takes it, and gigabytes wait for the disk before it ends.
 * @throws UnreadableError
 */
export async function copyEnvironment(
  disk: CopyDisk,
  from: string,
  to: string,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const environment = new StoreEnvironment(from);
  const release = environment.holdSnapshot();
  const file = await open(from, 'r');
  try {
    const { start, bytes } = readStart(file.fd);
    await copyHandle(disk, file, to, onBytes, { from: 0, to: bytes }, start);
  } finally {
    await file.close();
    release();
    await environment.close();
  }
  await keepNewest(to);
}

/** Both meta pages, the newest of them as it is at one moment, and where its snapshot ends. */
function readStart(file: number): { start: Buffer; bytes: number } {
  for (let reads = 0; reads < startReadsMax; reads++) {
    const [start, again] = [readPages(file), readPages(file)];
    const { meta } = pickMeta(start, 'newest');
    if (meta === undefined) continue;
    const { pageBytes, lastPage, transaction } = meta;
    // A writer may be in the middle of a meta page: of the other one, for the next two commits.
    const at = (transaction % 2) * pageBytes;
    const isWhole = start.subarray(at, at + metaBytes).equals(again.subarray(at, at + metaBytes));
    if (isWhole)
      return { start: start.subarray(0, 2 * pageBytes), bytes: (lastPage + 1) * pageBytes };
  }
  throw new UnreadableError('has meta pages that cannot be read');
}

function readPages(file: number): Buffer {
  const start = Buffer.alloc(startBytes);
  try {
    return start.subarray(0, readSync(file, start, 0, startBytes, 0));
  } catch (error) {
    throw new UnreadableError(`cannot be read (${systemErrorCode(error)})`);
  }
}

/** A small file, synced. */
export async function writeWhole(disk: CopyDisk, path: string, text: string): Promise<void> {
  const file = await disk.create(path);
  try {
    await file.write(Buffer.from(text));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Synced, too: marks and one more commit were written into the copy of a data file. */
export async function hashOf(path: string): Promise<Copied> {
  const hash = createHash('sha256');
  const file = await open(path, 'r');
  let bytes = 0;
  try {
    const pieces = file.createReadStream({ highWaterMark: pieceBytes, autoClose: false });
    for await (const piece of pieces) {
      hash.update(piece);
      bytes += piece.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** @throws DataFolderError where the file system of `folder` has less free than `bytes` */
export function assertSpace(disk: CopyDisk, folder: string, bytes: number, action: string): void {
  const free = disk.freeBytes(folder);
  if (free >= bytes + spareBytes) return;
  throw new DataFolderError(
    `Cannot ${action}: ${sizeText(bytes + spareBytes)} are needed there and ${sizeText(free)} are free; nothing was copied`,
  );
}

export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const unit = Math.min(Math.floor(Math.log10(Math.max(1, bytes)) / 3), units.length - 1);
  return unit === 0 ? `${bytes} bytes` : `${(bytes / 1_000 ** unit).toFixed(1)} ${units[unit]}`;
}

/** Names of what lies in a folder; none where it does not exist. */
const namesIn = (path: string): string[] => (existsSync(path) ? readdirSync(path) : []);

/** The root of a file system of its own has this. */
const ofTheSystem = 'lost+found';

/** @param isOwn of names that are not counted */
export function assertEmpty(path: string, action: string, isOwn = (_name: string) => false): void {
  const [name] = namesIn(path).filter((found) => found !== ofTheSystem && !isOwn(found));
  if (name === undefined) return;
  throw new DataFolderError(`Cannot ${action} ${path}: it has ${name}, expected an empty folder`);
}

/** Where another file system is mounted. */
export function isMountPoint(path: string): boolean {
  return existsSync(path) && statSync(path).dev !== statSync(join(path, '..')).dev;
}

/** Every folder below and with this one, the deepest first. */
export function foldersIn(path: string): string[] {
  const below = readdirSync(path).filter((name) => lstatSync(join(path, name)).isDirectory());
  return [...below.flatMap((name) => foldersIn(join(path, name))), path];
}
