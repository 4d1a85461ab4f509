/**
 * Whether every scan that the nodes of a cluster have answered before a moment is counted on this core.
 *
 *   of this core     its journals as they end when the mark is made; also what has come here of the others by then
 *   of other nodes   the first beat that says this moment or a later one, by the clock that times the node's scans: up to
 *                    the tails in it the node's journals must have come here and be counted. A last beat is final.
 *
 * A node that is away, and has not said that it ends, is not past before it is back: who waits for it sets a limit. One that
 * leaves the cluster is waited for no longer.
 *
 * A new leader knows what the nodes have said since its own process was started: every core receives all beats.
 */
import type { Clock } from '../../model/clock.ts';
import type { CountingMark } from '../../scans/counting.ts';
import type { JournalPositions } from '../../scans/journal/positions.ts';
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
  /** What a node has said last; undefined = nothing since this process was started. */
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
  /** Nodes whose tails are in the mark: it does not run after those of later scans. */
  readonly #told = new Set<string>();

  constructor(options: ClusterCountingOptions, atMs: number) {
    this.#options = options;
    this.#atMs = atMs;
    this.#counted = options.local.mark();
  }

  isPast(): boolean {
    // Each is looked at: what one says now is not waited for behind another.
    const waiting = this.#options.nodes().filter((node) => !this.#hasTold(node));
    return waiting.length === 0 && this.#counted.isPast();
  }

  #hasTold({ name, journals }: Pick<NodeRecord, 'name' | 'journals'>): boolean {
    if (name === this.#options.name || journals.length === 0 || this.#told.has(name)) return true;
    const last = this.#options.last(name);
    if (last === undefined) return false;
    const { isLast, journaled } = last;
    if (!isLast && journaled.atMs < this.#atMs) return false;
    this.#counted.add(journaled.tails);
    this.#told.add(name);
    return true;
  }
}

/** What a node says of its journals now. */
export function journaledOf(
  clock: Pick<Clock, 'now'>,
  { journals }: Pick<NodeRecord, 'journals'>,
  tails: JournalPositions,
): Journaled {
  // First the time: the tails are of that moment, or later.
  const atMs = clock.now();
  return { atMs, tails: journals.map((journal) => [journal, tails.position(journal)]) };
}
