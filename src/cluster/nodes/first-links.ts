/**
 * Checks that a node that has just started has the changes of links that came while it was stopped. It redirects by the links
 * on its disk from the first moment, and those changes were answered without it: until it has them, its health sends scans to
 * other nodes. While no core reports its links, as when brokers are away, the node is ready after 5 s.
 */
import type { Timers } from '../../model/clock.ts';
import type { HealthCheck } from '../../telemetry/health.ts';
import type { Beats } from './beats.ts';

const waitMsMax = 5_000;

export class FirstLinks {
  readonly #timers: Pick<Timers, 'monotonicMs'>;
  readonly #beats: Pick<Beats, 'connected' | 'own'>;
  readonly #startedMs: number;
  #isReady = false;

  constructor(timers: Pick<Timers, 'monotonicMs'>, beats: Pick<Beats, 'connected' | 'own'>) {
    this.#timers = timers;
    this.#beats = beats;
    this.#startedMs = timers.monotonicMs();
  }

  /** The problem is why scans should go to other nodes. */
  get check(): HealthCheck {
    return { name: 'links since the last start', problem: () => this.#problem() };
  }

  #problem(): string | undefined {
    this.#isReady ||= this.#hasNewest || this.#isLate;
    return this.#isReady ? undefined : 'links that changed while this node was stopped are coming';
  }

  /** This node has the changes of links that the cores have. */
  get #hasNewest(): boolean {
    const cores = this.#beats.connected().filter(({ role }) => role !== 'edge');
    const newest = Math.max(...cores.map(({ linkNumber }) => linkNumber));
    return cores.length > 0 && this.#beats.own.linkNumber >= newest;
  }

  get #isLate(): boolean {
    return this.#timers.monotonicMs() - this.#startedMs >= waitMsMax;
  }
}
