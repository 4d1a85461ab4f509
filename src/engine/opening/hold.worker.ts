/**
 * Takes the writer's lock of every data file, so that no thread and no process commits, until it is told to let go
 * (host-openings.ts). A thread of its own, because LMDB's lock belongs to the thread that waits.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { StoreEnvironment } from '../../store/environment.ts';

export interface HoldSetup {
  /** Of data files. All take them in this order: none waits for another in a circle. */
  readonly paths: readonly string[];
  /** One number: 1 = let go. */
  readonly released: Int32Array;
  /** Then it lets go by itself: the thread that would tell it may wait for the lock. */
  readonly msMax: number;
}

const { paths, released, msMax }: HoldSetup = workerData;

function hold([path, ...others]: readonly string[]): void {
  if (path === undefined) {
    parentPort?.postMessage('held');
    Atomics.wait(released, 0, 0, msMax);
    return;
  }
  try {
    const environment = new StoreEnvironment(path);
    environment.holdWriters(() => hold(others));
    void environment.close();
  } catch {
    // LMDB refuses the file to this process, so that it does not write there either.
    hold(others);
  }
}

hold(paths);
