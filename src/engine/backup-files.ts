/**
 * The parts of a backup: files synced to disk, each with its hash, and the manifest that lists them.
 * Files are copied in pieces of 1 MiB, so that a backup of any size needs little memory.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DataFolderError } from './data-folder.ts';

export const manifestName = 'backup.json';
export const manifestVersion = 1;
const copyBytes = 1_048_576;

export interface BackupSummary {
  readonly files: number;
  readonly bytes: number;
}

export interface CopiedFile {
  /** Below the folder, with `/`. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly version: number;
  readonly createdAt: string;
  readonly files: readonly CopiedFile[];
}

/** Called after each copied file. */
export type OnFile = (name: string, bytes: number) => void;

export async function copyFile(from: string, to: string): Promise<void> {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  const file = await open(from, 'r');
  try {
    await copyHandle(file, to);
  } finally {
    await file.close();
  }
}

interface ByteRange {
  readonly from: number;
  /** Excluded. */
  readonly to: number;
}

/** Copies and syncs the file's present bytes, or a range of them. */
export async function copyHandle(
  source: FileHandle,
  to: string,
  range: ByteRange = { from: 0, to: Number.MAX_SAFE_INTEGER },
): Promise<void> {
  const file = await open(to, 'w', 0o600);
  const buffer = Buffer.allocUnsafe(copyBytes);
  let at = range.from;
  try {
    while (at < range.to) {
      const wanted = Math.min(buffer.length, range.to - at);
      const { bytesRead } = await source.read(buffer, 0, wanted, at);
      if (bytesRead === 0) break;
      await file.writeFile(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function describe(folder: string, name: string): Promise<CopiedFile> {
  const path = join(folder, name);
  return { name, bytes: statSync(path).size, sha256: await hashOf(path) };
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'r');
  try {
    for await (const chunk of file.createReadStream({
      highWaterMark: copyBytes,
      autoClose: false,
    })) {
      hash.update(chunk);
    }
    // LMDB copies an environment without a sync.
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

export function assertEmpty(path: string, action: string): void {
  const names = existsSync(path) ? readdirSync(path) : [];
  if (names.length === 0) return;
  throw new DataFolderError(
    `Cannot ${action} ${path}: it has ${names[0]}, expected an empty folder`,
  );
}
