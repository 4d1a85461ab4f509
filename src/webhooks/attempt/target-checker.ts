/** Checks targets from a separate thread, which starts with the first request and ends after a minute without one. */
import type { TargetAnswer, TargetChecker } from '../../model/watches/watch.ts';
import { shipped } from '../../shipped.ts';
import { createPool } from '../../workers/pool.ts';
import type { TargetRequest, TargetRequestSettings } from './target-request.ts';

/** Above the caller's number in flight. */
const tasksMax = 64;
const closeMsMax = 100;
/** A thread takes 15 to 25 MB, and requests come in rounds. */
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
        // A dead thread or a closed pool says nothing about the target.
        return { failure: 'unknown' };
      }
    },
    close: () => pool.close(),
  };
}
