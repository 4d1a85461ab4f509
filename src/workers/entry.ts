/**
 * The thread side of a pool: makes a worker file's default export out of a plain function.
 *
 * Structured clone drops the class of an exception, so exceptions travel as data: a `Failure` arrives as
 * the same `Failure`, a defect keeps its text, and its stack where the thread records one.
 *
 * On Linux a pool's threads have a lower priority than the others: people wait for a redirect while they
 * stand in front of a code, but not for a webhook or a drawing.
 */
import { getPriority, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { Failure, type Fault, type FailureCode } from '../model/failure.ts';

/** A third of a redirect thread's weight where both want one core. */
const lowPriority = 5;
/** A seventieth: for what may take long, and takes all of a core meanwhile. */
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

/**
 * A worker file is `export default threadEntry(work)` and nothing else.
 * @param niceness of its threads, as of setpriority(2)
 */
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
  // On Linux 0 is the calling thread, on other systems the process.
  if (isMainThread || process.platform !== 'linux') return;
  try {
    if (getPriority(0) < niceness) setPriority(0, niceness);
  } catch {
    // A sandbox may forbid it: then all threads are equal.
  }
}
