/**
 * Files and folders of the data folder are for their owner alone: the process entry sets the umask, and what an
 * older release, a copy or a restore by hand has left more open is narrowed when the service starts.
 *
 * Pictures are many and each is in a folder: `logos/` and `cache/` are closed as folders, their files are not
 * looked at. Links, sockets and devices are left alone.
 */
import { chmodSync, lstatSync, readdirSync, realpathSync, type Stats } from 'node:fs';
import { join } from 'node:path';

const forOthers = 0o077;
const closedAsFolders: ReadonlySet<string> = new Set(['logos', 'cache']);

export interface OpenFile {
  /** Below the data folder, `.` for itself. */
  readonly name: string;
  /** Permission bits. */
  readonly mode: number;
  readonly ownerId: number;
}

/** Files and folders that others than their owner may read, change or enter; none where it cannot be told. */
export function filesOpenToOthers(folder: string): OpenFile[] {
  return [...walk(realpathSync(folder), '.')].flatMap(({ name, stats }) => {
    const mode = stats.mode & 0o777;
    return (mode & forOthers) === 0 ? [] : [{ name, mode, ownerId: stats.uid }];
  });
}

/** Takes others' permissions from what this user owns. @returns how many were narrowed */
export function narrowModes(folder: string): number {
  const userId = process.getuid?.();
  let narrowed = 0;
  for (const { name, mode, ownerId } of filesOpenToOthers(folder)) {
    if (ownerId !== userId) continue;
    const path = join(realpathSync(folder), name);
    try {
      chmodSync(path, mode & ~forOthers);
      if ((lstatSync(path).mode & forOthers) === 0) narrowed++;
    } catch {
      // A file system without modes, or the file is gone: `doctor` names what stays open.
    }
  }
  return narrowed;
}

function* walk(folder: string, name: string): Generator<{ name: string; stats: Stats }> {
  const path = join(folder, name);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (stats.isFile()) yield { name, stats };
  if (!stats.isDirectory()) return;
  yield { name, stats };
  if (closedAsFolders.has(name)) return;
  for (const entry of namesIn(path)) yield* walk(folder, join(name, entry));
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
