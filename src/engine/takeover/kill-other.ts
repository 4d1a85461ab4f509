import { readlinkSync, statSync } from 'node:fs';
import type { Logger } from '../../telemetry/log.ts';
import type { DataFolder } from '../data-folder.ts';

/** Whether a user may speak for the folder: the one of this process, or the folder's own. */
export const isOwnUser = ({ path }: DataFolder, uid: number): boolean =>
  uid === (process.geteuid?.() ?? uid) || uid === statSync(path).uid;

/** A process id is valid in its namespace only: containers have their own. Empty if the system has none. */
export function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** Kills a process that hangs or faults. Its connection ends with it. */
export function killOther(
  side: 'successor' | 'predecessor' | 'process',
  pid: number,
  log: Logger,
): void {
  // That process has sent its id: never kill init, a group of processes, or this one.
  if (pid <= 1 || pid === process.pid) {
    return log.error(`the ${side} cannot be killed: its process id is not its own`);
  }
  try {
    // Root may signal every process, also of other users.
    const uid = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? process.geteuid?.();
    if (uid !== process.geteuid?.()) throw new Error(`it belongs to user ${uid}`);
    process.kill(pid, 'SIGKILL');
    log.error(`the ${side} was killed`);
  } catch (err) {
    log.error({ err }, `the ${side} cannot be killed`);
  }
}
