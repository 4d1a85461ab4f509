/**
 * `service.pid` in the data folder: the number of the process that owns the folder, for systemd's `PIDFile=` and for
 * `kill "$(cat data/service.pid)"`. Nothing here trusts it: the lock says who the owner is (folder-lock.ts).
 *
 * It is in the data folder, because its owner is the owner of that: no other place is the same for the unit, for a start
 * by hand and for every process of a takeover. systemd takes a number from a file that is not root's where the
 * process belongs to the unit. It reads the file when a reload has succeeded, and when the process that it watches
 * ends: the next owner has to be in it by then.
 *
 * The file is not synced: it says nothing after a loss of power.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { DataFolder } from '../data-folder.ts';
import { readIfThere } from '../small-files.ts';

export const pidFileName = 'service.pid';

const pidFile = ({ path }: DataFolder): string => join(path, pidFileName);

/** This process owns the folder from now on. Without the file, as on a full disk, it serves all the same. */
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

/** This process owns the folder no more. The file of a successor stays. */
export function removePidFile(folder: DataFolder): void {
  try {
    if (readPidFile(folder) === process.pid) rmSync(pidFile(folder), { force: true });
  } catch {
    // The folder has moved or its disk is away: what is left names a process that has ended.
  }
}

/** Undefined where no service has said that it is the owner. @throws Error of the system */
export function readPidFile(folder: DataFolder): number | undefined {
  const digits = /^(\d+)\n$/.exec(readIfThere(pidFile(folder))?.toString() ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
