/**
 * Checks that a node that has just started has the changes of links that came while it was stopped. It redirects by the links
 * on its disk from the first moment, and those changes were answered without it: until it has them, its health sends scans to
 * other nodes. While no core reports its links, as when brokers are away, the node is ready after 5 s.
 */
import type { Timers } from '../../model/clock.ts';
import type { HealthCheck } from '../../platform/health.ts';
import type { Beats } from './beats.ts';

const waitMsMax = 5_000;

/** The problem is why scans should go to other nodes. */
export function firstLinksCheck(
  timers: Pick<Timers, 'monotonicMs'>,
  beats: Pick<Beats, 'linksBehind'>,
): HealthCheck {
  const startedMs = timers.monotonicMs();
  let isReady = false;
  const problem = (): string | undefined => {
    isReady ||= beats.linksBehind === 0 || timers.monotonicMs() - startedMs >= waitMsMax;
    return isReady ? undefined : 'links that changed while this node was stopped are coming';
  };
  return { name: 'links since the last start', problem };
}
