import { readlinkSync } from 'node:fs';
import type { Logger } from '../../telemetry/log.ts';

/** Process ids mean something in it alone: containers have their own. Empty where the system has none. */
export function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** Kills a process that hangs or says what it should not: its connection ends with it. */
export function killOther(
  side: 'successor' | 'predecessor' | 'process',
  pid: number,
  log: Logger,
): void {
  // The id is what that process said of itself: never init, a group of processes, or this one.
  if (pid <= 1 || pid === process.pid) {
    return log.error(`the ${side} cannot be killed: its process id is not its own`);
  }
  try {
    process.kill(pid, 'SIGKILL');
    log.error(`the ${side} was killed`);
  } catch (err) {
    log.error({ err }, `the ${side} cannot be killed`);
  }
}
