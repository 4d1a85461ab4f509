/**
 * Whether every scan that the nodes of a cluster have answered before a moment is counted on this core.
 *
 *   this core     its journals up to their ends when the mark is made, and what has come of the others by then
 *   other nodes   their journals up to the tails in the first beat of this moment or a later one, by the clock that times the
 *                 node's scans; or in a last beat, which is final
 *
 * A node that is away and sent no last beat is past when it is back: the caller sets a limit. A node that leaves the cluster is
 * waited for no longer.
 *
 * A new leader knows all beats since its own process started: every core receives them.
 */
import type { Clock } from '../../model/clock.ts';
import type { CountingMark } from '../../engine/counting/counting.ts';
import type { JournalPositions } from '../../engine/journal/positions.ts';
import type { NodeRecord } from '../../store/management/cluster.ts';
import type { Beat, Journaled } from '../nodes/beat-message.ts';

export interface ClusterCountingOptions {
  readonly local: {
    mark(): Pick<CountingMark, 'add' | 'isPast'>;
  };
  /** Of this core. */
  readonly name: string;
  /** All that have not left. */
  readonly nodes: () => ReadonlyArray<Pick<NodeRecord, 'name' | 'journals'>>;
  /** The last beat of a node; undefined = none since this process started. */
  readonly last: (name: string) => Pick<Beat, 'isLast' | 'journaled'> | undefined;
}

export class ClusterCounting {
  readonly #options: ClusterCountingOptions;

  constructor(options: ClusterCountingOptions) {
    this.#options = options;
  }

  /** @param atMs a scan that is answered before the moment in question is in its journal by then; it has passed here */
  mark(atMs: number): ClusterMark {
    return new ClusterMark(this.#options, atMs);
  }
}

class ClusterMark {
  readonly #options: ClusterCountingOptions;
  readonly #atMs: number;
  readonly #counted: Pick<CountingMark, 'add' | 'isPast'>;
  /** Nodes whose tails are in the mark; their later scans do not count. */
  readonly #reported = new Set<string>();

  constructor(options: ClusterCountingOptions, atMs: number) {
    this.#options = options;
    this.#atMs = atMs;
    this.#counted = options.local.mark();
  }

  isPast(): boolean {
    // Checks each: the first beat that counts sets the tails.
    const waiting = this.#options.nodes().filter((node) => !this.#hasReported(node));
    return waiting.length === 0 && this.#counted.isPast();
  }

  #hasReported({ name, journals }: Pick<NodeRecord, 'name' | 'journals'>): boolean {
    if (name === this.#options.name || journals.length === 0 || this.#reported.has(name))
      return true;
    const last = this.#options.last(name);
    if (last === undefined) return false;
    const { isLast, journaled } = last;
    if (!isLast && journaled.atMs < this.#atMs) return false;
    this.#counted.add(journaled.tails);
    this.#reported.add(name);
    return true;
  }
}

/** What a node reports of its journals now. */
export function journaledOf(
  clock: Pick<Clock, 'now'>,
  { journals }: Pick<NodeRecord, 'journals'>,
  tails: JournalPositions,
): Journaled {
  // First the time: the tails are of that moment, or later.
  const atMs = clock.now();
  return { atMs, tails: journals.map((journal) => [journal, tails.position(journal)]) };
}
