/**
 * Whether a node that has just started has the changes of links that came while it was stopped. It redirects by the links on
 * its disk from its first moment on, and those changes were answered without waiting for it: until it has them, its health
 * sends scans to other nodes. Where no core says how far links are, as while brokers are away, it is ready after 5 s.
 */
import type { Timers } from '../../model/clock.ts';
import type { Beats } from './beats.ts';

const waitMsMax = 5_000;

export class FirstLinks {
  readonly #timers: Pick<Timers, 'monotonicMs'>;
  readonly #startedMs: number;
  #isReady = false;

  constructor(timers: Pick<Timers, 'monotonicMs'>) {
    this.#timers = timers;
    this.#startedMs = timers.monotonicMs();
  }

  /** @param beats undefined until this node sends beats @returns why scans should go to other nodes */
  problem(beats: Pick<Beats, 'connected' | 'own'> | undefined): string | undefined {
    this.#isReady ||= hasNewest(beats) || this.#isLate;
    return this.#isReady ? undefined : 'links that changed while this node was stopped are coming';
  }

  get #isLate(): boolean {
    return this.#timers.monotonicMs() - this.#startedMs >= waitMsMax;
  }
}

/** Whether this node has the changes of links that the cores have. */
function hasNewest(beats: Pick<Beats, 'connected' | 'own'> | undefined): boolean {
  const cores = (beats?.connected() ?? []).filter(({ role }) => role !== 'edge');
  const newest = Math.max(...cores.map(({ linkNumber }) => linkNumber));
  return cores.length > 0 && beats !== undefined && beats.own.linkNumber >= newest;
}
