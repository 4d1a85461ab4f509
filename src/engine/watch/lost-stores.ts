/**
 * Ends a process to which LMDB refuses a data file.
 *
 * When a meta page cannot be written (a bad disk), LMDB gives the file up in all threads: nothing reads or writes it any
 * more, also once the disk is well, and a thread that tries to write may wait forever or break the heap of lmdb-js. What
 * was committed is whole, and answered scans are in their journals, so a new process goes on where this one ends.
 */
import type { StoreEnvironment } from '../../store/environment.ts';
import type { Signal } from '../../model/signal.ts';
import type { Logger } from '../../telemetry/log.ts';

/** Other threads share the file and its state, and may wait for LMDB before they can say that a commit was refused. */
const everyMs = 5_000;

/**
 * A refused commit is looked at at once, before it is tried again.
 * @param refused fired when other threads say that they may have had one @returns ends the watch
 */
export function watchLostStores(
  environments: readonly StoreEnvironment[],
  log: Logger,
  refused?: Signal,
): () => void {
  const endIfLost = (environment: StoreEnvironment): void => {
    if (!environment.isLost) return;
    const file = environment.path;
    log.fatal(
      { file },
      'LMDB gave the file up after a failed write: the process ends, start again',
    );
    // An exit would wait for the threads that wait for LMDB, or abort.
    process.kill(process.pid, 'SIGKILL');
  };
  const listening = environments.map((environment) =>
    environment.refused.listen(() => endIfLost(environment)),
  );
  const check = (): void => environments.forEach(endIfLost);
  if (refused !== undefined) listening.push(refused.listen(check));
  const timer = setInterval(check, everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    for (const end of listening) end();
  };
}
