/** Small files of a data folder, written atomically. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemErrorCode } from '../model/failure.ts';

/** Undefined for a missing file. @throws Error of the system */
export function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes or replaces a file (0600). Syncs it before the rename, and the folder after it. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const draft = `${path}.new`;
  writeFileSync(draft, content, { mode: 0o600, flush: true });
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/** Makes the names in a folder survive a power loss, if the file system can sync folders. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP', 'EPERM'].includes(systemErrorCode(error))) throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
