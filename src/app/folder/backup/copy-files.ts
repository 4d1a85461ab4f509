/**
 * Copies files in pieces of 1 MiB and hashes them on the way: little memory, one read of the source.
 *
 * Copies are synced every 4 MiB. Otherwise gigabytes would collect in the system's memory, and the journals' writes would
 * wait while these are flushed.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { metaBytes, pickMeta } from '../../../store/data-file/format.ts';
import { keepNewest } from '../../../store/copied-file.ts';
import { systemErrorCode } from '../../../model/failure.ts';
import { freeBytes } from '../../../store/space-guard.ts';
import { DataFolderError, makeFolder } from '../data-folder.ts';
import { syncFolder } from '../../../platform/small-files.ts';

const pieceBytes = 1_048_576;
const unsyncedBytesMax = 4 * pieceBytes;
/** Two pages of the largest size. */
const startBytes = 131_072;
/** Attempts to read the meta pages twice without a commit in between: a read takes microseconds, a commit longer. */
const startReadsMax = 100;
/** Spare bytes for folders, the manifest, and growing data. */
const spareBytes = 1_048_576;

export interface CopiedFile {
  /** Path below the folder, with `/`. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface CopyProgress {
  begin(bytes: number): void;
  add(bytes: number): void;
  file(name: string, bytes: number): void;
  /** The copy is complete; its verification begins. */
  check(): void;
}

export interface ByteRange {
  readonly from: number;
  /** Exclusive end. */
  readonly to: number;
}

export interface Copied {
  readonly bytes: number;
  readonly sha256: string;
}

/** @returns undefined for a missing file @throws DataFolderError if the source cannot be read */
export async function copyFile(
  from: string,
  to: string,
  onBytes: (bytes: number) => void,
): Promise<Copied | undefined> {
  const file = await openSource(from);
  if (file === undefined) return undefined;
  try {
    return await copyHandle(file, to, onBytes);
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
    throw unreadable(path, `cannot be read (${code})`);
  }
}

const unreadable = (path: string, found: string): DataFolderError =>
  new DataFolderError(`Cannot copy ${basename(path)}: it ${found}`);

/** Writes and syncs a file (0600), and makes its folder. */
export async function writePieces(
  to: string,
  pieces: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<Copied> {
  makeFolder(dirname(to));
  const file = await open(to, 'w', 0o600);
  const hash = createHash('sha256');
  let [bytes, unsynced] = [0, 0];
  try {
    for await (const piece of pieces) {
      hash.update(piece);
      await file.writeFile(piece);
      onBytes(piece.length);
      bytes += piece.length;
      unsynced += piece.length;
      if (unsynced < unsyncedBytesMax) continue;
      await file.sync();
      unsynced = 0;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/**
 * Copies and syncs the file's current bytes, or a range of them.
 * @param start replaces the first bytes of the range
 * @throws DataFolderError if the source cannot be read
 */
export const copyHandle = (
  source: FileHandle,
  to: string,
  onBytes: (bytes: number) => void,
  range: ByteRange = { from: 0, to: Number.MAX_SAFE_INTEGER },
  start?: Uint8Array,
): Promise<Copied> => {
  const read = (buffer: Buffer, wanted: number, at: number): Promise<number> =>
    source.read(buffer, 0, wanted, at).then(
      ({ bytesRead }) => bytesRead,
      (error: unknown) => {
        throw unreadable(to, `cannot be read from byte ${at} (${systemErrorCode(error)})`);
      },
    );
  return writePieces(to, piecesOf(read, range, start), onBytes);
};

async function* piecesOf(
  read: (buffer: Buffer, wanted: number, at: number) => Promise<number>,
  { from, to }: ByteRange,
  start: Uint8Array = new Uint8Array(0),
): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(pieceBytes);
  for (let at = from; at < to;) {
    const bytesRead = await read(buffer, Math.min(buffer.length, to - at), at);
    if (bytesRead === 0) return;
    const piece = buffer.subarray(0, bytesRead);
    if (at === from) piece.set(start.subarray(0, bytesRead));
    yield piece;
    at += bytesRead;
  }
}

/**
 * Copies the newest snapshot of a data file while others write. LMDB's own copy would write without syncs.
 * @param pin protects the pages of this snapshot, and of newer ones until the copy ends (folder-access.ts)
 * @param onSnapshot runs when the snapshot is taken, before it is copied
 * @throws DataFolderError if the source cannot be read
 */
export async function copyEnvironment(
  from: string,
  to: string,
  onBytes: (bytes: number) => void,
  pin: () => Promise<() => Promise<void>>,
  onSnapshot = async (): Promise<void> => undefined,
): Promise<void> {
  const release = await pin();
  try {
    const file = await open(from, 'r');
    try {
      const { start, bytes } = readStart(file.fd, from);
      await onSnapshot();
      await copyHandle(file, to, onBytes, { from: 0, to: bytes }, start);
    } finally {
      await file.close();
    }
  } finally {
    await release();
  }
  await keepNewest(to);
}

/** Both meta pages, the newest one intact, and the end of its snapshot. */
function readStart(file: number, path: string): { start: Buffer; bytes: number } {
  for (let reads = 0; reads < startReadsMax; reads++) {
    const [start, again] = [readPages(file, path), readPages(file, path)];
    const meta = pickMeta(start, 'newest');
    if (meta === undefined) continue;
    const { pageBytes, lastPage, transaction } = meta;
    // A writer may be writing this page. Its next commit writes the other page, so two equal reads are intact.
    const at = (transaction % 2) * pageBytes;
    const isWhole = start.subarray(at, at + metaBytes).equals(again.subarray(at, at + metaBytes));
    if (isWhole)
      return { start: start.subarray(0, 2 * pageBytes), bytes: (lastPage + 1) * pageBytes };
  }
  throw unreadable(path, 'has unreadable meta pages');
}

function readPages(file: number, path: string): Buffer {
  const start = Buffer.alloc(startBytes);
  try {
    return start.subarray(0, readSync(file, start, 0, startBytes, 0));
  } catch (error) {
    throw unreadable(path, `cannot be read (${systemErrorCode(error)})`);
  }
}

/** Removes a file, or a folder with its content; it may be missing. */
export const remove = (path: string): void => rmSync(path, { recursive: true, force: true });

/** Also syncs the file: a mark and a commit were written to the copy of a data file. */
export async function hashOf(path: string, onRead = (): void => undefined): Promise<Copied> {
  const hash = createHash('sha256');
  const file = await open(path, 'r');
  try {
    const pieces = file.createReadStream({ highWaterMark: pieceBytes, autoClose: false });
    for await (const piece of pieces) {
      onRead();
      hash.update(piece);
    }
    await file.sync();
    return { bytes: (await file.stat()).size, sha256: hash.digest('hex') };
  } finally {
    await file.close();
  }
}

/** @throws DataFolderError if the file system of `folder` has less than `bytes` free */
export function assertSpace(folder: string, bytes: number, action: string): void {
  const free = freeBytes(folder);
  if (free >= bytes + spareBytes) return;
  throw new DataFolderError(
    `Cannot ${action}: ${sizeText(free)} free there, expected ${sizeText(bytes + spareBytes)}; the copy did not start`,
  );
}

export const sizeOf = (files: readonly CopiedFile[]): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);

export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const unit = Math.min(Math.floor(Math.log10(Math.max(1, bytes)) / 3), units.length - 1);
  return unit === 0 ? `${bytes} bytes` : `${(bytes / 1_000 ** unit).toFixed(1)} ${units[unit]}`;
}

const namesIn = (path: string): string[] => (existsSync(path) ? readdirSync(path) : []);

/** At the root of a file system. */
const ofTheSystem = 'lost+found';

/** @param isOwn true for names to ignore */
export function assertEmpty(path: string, action: string, isOwn = (_name: string) => false): void {
  const [name] = namesIn(path).filter((found) => found !== ofTheSystem && !isOwn(found));
  if (name === undefined) return;
  throw new DataFolderError(`Cannot ${action} ${path}: it has ${name}, expected an empty folder`);
}

export function isMountPoint(path: string): boolean {
  return existsSync(path) && statSync(path).dev !== statSync(join(path, '..')).dev;
}

export function removeLocks(folder: string): void {
  for (const name of namesIn(folder)) {
    if (name.endsWith('.mdb-lock')) rmSync(join(folder, name), { force: true });
  }
}

/** This folder and all folders below it, the deepest first. */
export function foldersIn(path: string): string[] {
  const below = readdirSync(path).filter((name) => lstatSync(join(path, name)).isDirectory());
  return [...below.flatMap((name) => foldersIn(join(path, name))), path];
}

/** Moves the entries of a draft into its folder, management.mdb last: a start refuses a folder without it. */
export function moveUp(draft: string, folder: string): void {
  for (const path of foldersIn(draft)) syncFolder(path);
  const isLast = (name: string): number => Number(name === 'management.mdb');
  for (const name of readdirSync(draft).toSorted((one, other) => isLast(one) - isLast(other))) {
    renameSync(join(draft, name), join(folder, name));
  }
  syncFolder(folder);
}
