/** Small files of a data folder: whole under their name, or not there. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemErrorCode } from '../model/failure.ts';

/** Undefined where there is no such file. @throws Error of the system */
export function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes or replaces it, for its owner alone: synced before it has its name, and the name is synced as well. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const draft = `${path}.new`;
  writeFileSync(draft, content, { mode: 0o600, flush: true });
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/**
 * The names in a folder survive a loss of power once it is synced. Some file systems have no sync of a folder: there
 * the names are as safe as they get.
 */
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

/** `undefined` for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
