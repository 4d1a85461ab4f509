/**
 * Whether a node that has just started has the links of the others. It redirects by those on its disk from its first moment
 * on, and changes that were answered meanwhile did not wait for it: until it has them, health says that scans should go to
 * another node. Where nobody says how far links are, as while brokers are away, it is ready after 5 s.
 */
import type { Timers } from '../../model/clock.ts';
import type { Beats } from './beats.ts';

const waitMsMax = 5_000;

export class FirstLinks {
  readonly #timers: Pick<Timers, 'monotonicMs'>;
  readonly #startedMs: number;
  #areThere = false;

  constructor(timers: Pick<Timers, 'monotonicMs'>) {
    this.#timers = timers;
    this.#startedMs = timers.monotonicMs();
  }

  /** @param beats undefined until this node sends some @returns why scans should go elsewhere */
  problem(beats: Pick<Beats, 'connected' | 'own'> | undefined): string | undefined {
    this.#areThere ||= isEqual(beats) || this.#isLate;
    return this.#areThere ? undefined : 'links that changed while this node was stopped are coming';
  }

  get #isLate(): boolean {
    return this.#timers.monotonicMs() - this.#startedMs >= waitMsMax;
  }
}

/** Whether this node has the changes of links that the cores have. */
function isEqual(beats: Pick<Beats, 'connected' | 'own'> | undefined): boolean {
  const cores = (beats?.connected() ?? []).filter(({ role }) => role !== 'edge');
  const newest = Math.max(...cores.map(({ linkNumber }) => linkNumber));
  return cores.length > 0 && beats !== undefined && beats.own.linkNumber >= newest;
}
