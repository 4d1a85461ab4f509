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

/** Copies and syncs the file's present bytes; returns how many. */
export async function copyHandle(from: FileHandle, to: string): Promise<number> {
  const file = await open(to, 'w', 0o600);
  const buffer = Buffer.allocUnsafe(copyBytes);
  let at = 0;
  try {
    for (;;) {
      const { bytesRead } = await from.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) break;
      await file.writeFile(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return at;
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
