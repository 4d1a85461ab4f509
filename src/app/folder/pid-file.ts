/**
 * `service.pid` in the data folder: the process that owns the folder, for systemd's `PIDFile=` and for
 * `kill "$(cat data/service.pid)"`. It is information only: the lock decides who owns the folder (folder-lock.ts).
 *
 * Only the data folder is the same for the unit, a start by hand, and every process of a takeover. systemd reads the
 * file after a reload, and when the watched process ends: by then it must have the next owner. The file is not synced,
 * because it is useless after a power loss.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import type { Logger } from '../../platform/log.ts';
import type { DataFolder } from './data-folder.ts';
import { readIfThere } from '../../platform/small-files.ts';

export const pidFileName = 'service.pid';

const pidFile = ({ path }: DataFolder): string => join(path, pidFileName);

/** If the file cannot be written, as on a full disk, the service runs without it. */
export function writePidFile(folder: DataFolder, log: Logger): void {
  const file = pidFile(folder);
  try {
    writeFileSync(`${file}.new`, `${process.pid}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    const reason = systemErrorCode(error);
    log.warn({ reason }, 'cannot write service.pid: systemd restarts the service after a reload');
  }
}

/** Removes the file unless it names a successor. */
export function removePidFile(folder: DataFolder): void {
  try {
    const file = pidFile(folder);
    if (readIfThere(file)?.toString() === `${process.pid}\n`) rmSync(file, { force: true });
  } catch {
    // The folder was moved, or its disk is missing.
  }
}
