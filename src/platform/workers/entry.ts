/**
 * The thread side of a pool: turns a function into the default export of a worker file. Structured clone drops the class
 * of an exception, so exceptions travel as data. On Linux the threads have a lower priority than redirects.
 */
import { getPriority, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { Failure, type Fault, type FailureCode } from '../../model/failure.ts';

/** A third of a redirect thread's weight on a shared core. */
const lowPriority = 5;
/** A seventieth, for long work that uses a core completely. */
export const lowestPriority = 19;

export type Outcome<Result> =
  | { readonly kind: 'done'; readonly value: Result }
  | {
      readonly kind: 'failed';
      readonly code: FailureCode;
      readonly detail: string;
      readonly faults: readonly Fault[];
      readonly retryAfterSeconds: number | undefined;
    }
  | { readonly kind: 'broken'; readonly message: string; readonly stack: string | undefined };

/** A worker file is `export default threadEntry(work)`. @param niceness as in setpriority(2) */
export function threadEntry<Task, Result>(
  work: (task: Task) => Result | Promise<Result>,
  niceness = lowPriority,
): (task: Task) => Promise<Outcome<Result>> {
  lowerPriority(niceness);
  return async (task) => {
    try {
      return { kind: 'done', value: await work(task) };
    } catch (error) {
      if (error instanceof Failure) {
        const { code, message, faults, retryAfterSeconds } = error;
        return { kind: 'failed', code, detail: message, faults, retryAfterSeconds };
      }
      const known = error instanceof Error ? error : new Error(String(error));
      return { kind: 'broken', message: known.message, stack: known.stack };
    }
  };
}

function lowerPriority(niceness: number): void {
  // On Linux 0 is the calling thread, elsewhere the process.
  if (isMainThread || process.platform !== 'linux') return;
  try {
    if (getPriority(0) < niceness) setPriority(0, niceness);
  } catch {
    // A sandbox may forbid it.
  }
}
