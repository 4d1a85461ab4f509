/** Sends requests to targets from a thread of its own, which starts with the first one and ends when there are none. */
import type { TargetAnswer, TargetChecker } from '../../model/watches/watch.ts';
import { shipped } from '../../shipped.ts';
import { createPool } from '../../workers/pool.ts';
import type { TargetRequest, TargetRequestSettings } from './target-request.ts';

/** More than the caller has in flight. */
const tasksMax = 64;
/** At a stop requests are cut off. */
const closeMsMax = 100;
/** A thread is 15 to 25 MB, and requests come in rounds. */
const restMs = 60_000;

export function openTargetChecker(
  settings: TargetRequestSettings,
  onDeath: (cause: unknown) => void,
): TargetChecker {
  const pool = createPool<TargetRequest & { settings: TargetRequestSettings }, TargetAnswer>({
    file: shipped.workerFile('target-request'),
    threads: 1,
    queueMax: tasksMax,
    tasksPerThread: tasksMax,
    closeMsMax,
    restMs,
    onDeath,
  });
  return {
    async check({ method, url }) {
      try {
        return await pool.run({ method, url, settings });
      } catch {
        // The thread died, or the pool is closed: that says nothing of the target.
        return { failure: 'unknown' };
      }
    },
    close: () => pool.close(),
  };
}
