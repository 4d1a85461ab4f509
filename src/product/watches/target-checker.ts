/** Checks targets from a separate thread, which starts with the first request and ends after a minute without one. */
import type { TargetAnswer, TargetChecker, TargetRequest } from '../../model/watches/watch.ts';
import type { AttemptSettings } from '../../model/webhook.ts';
import { shipped } from '../../platform/shipped.ts';
import { createPool } from '../../platform/workers/pool.ts';

const [timeoutMs, connectionsMax] = [10_000, 16];
/** Above the caller's number in flight. */
const tasksMax = 64;
const closeMsMax = 100;
/** A thread takes 15 to 25 MB, and requests come in rounds. */
const restMs = 60_000;

export function openTargetChecker(
  common: Pick<AttemptSettings, 'allowNetworks' | 'docsUrl'>,
  onDeath: (cause: unknown) => void,
): TargetChecker {
  const settings = { ...common, timeoutMs, connectionsMax };
  const pool = createPool<TargetRequest & { settings: AttemptSettings }, TargetAnswer>({
    file: shipped.workerFile('target-request'),
    threads: 1,
    queueMax: tasksMax,
    tasksPerThread: tasksMax,
    closeMsMax,
    restMs,
    onDeath,
  });
  return {
    async check(request) {
      try {
        return await pool.run({ ...request, settings });
      } catch {
        // A dead thread or a closed pool says nothing about the target.
        return { failure: 'unknown' };
      }
    },
    close: () => pool.close(),
  };
}
