/**
 * The journals of scans, for the control thread: it recovers them before a thread writes, and deletes counted segments.
 * Shards count every journal in `tails`.
 *
 * At a takeover two processes write journals with different numbers. Those of the other process are recovered, and counted,
 * when it has ended. In a cluster the caller sets the numbers of own journals; a thread (cluster/scans/) writes
 * those of other nodes after this recovery, and recovers new ones itself.
 */
import { assertInPlace, displacement, type FileIdentity, identify } from './file-identity.ts';
import {
  beginSegment,
  journalFolder,
  listJournals,
  oldestRecordMs,
  recoverJournal,
  type RecoverOptions,
  pruneJournal,
} from './segments.ts';
import { JournalPositions } from './positions.ts';
import { highestWatermark, lowestWatermarks, type ScanStore } from '../../store/scans/scans.ts';
import type { Logger } from '../../platform/log.ts';

export interface KnownJournals {
  numbers(): Iterable<number>;
  /** The lowest position to continue at: after a power loss, the files may end below what others have received. */
  endAtLeast(journal: number): number;
}

export interface JournalsOptions {
  readonly root: string;
  /** Number of redirect threads. Each has its own journal. */
  readonly threads: number;
  /** Journals of the redirect threads, in their order; absent = the lowest free numbers. */
  readonly own?: readonly number[] | undefined;
  readonly others?: readonly number[] | undefined;
  /** The position from which other nodes need a journal, Infinity = none of it; absent = there are no other nodes. */
  readonly keptFrom?: ((journal: number) => number) | undefined;
  /** Absent = a recovery cuts a torn tail off. */
  readonly recovery?: ((journal: number) => RecoverOptions) | undefined;
  readonly known: KnownJournals;
  readonly log: Logger;
}

export class Journals {
  readonly tails = new JournalPositions();
  /** Another folder at its path is never touched. */
  readonly root: FileIdentity;
  readonly #options: JournalsOptions;
  readonly #log: Logger;
  /** By journal: counted bytes that were missing at this start. */
  readonly missingBytes = new Map<number, number>();
  /** By journal, the tail at which only an empty segment was left. */
  readonly #emptyAt = new Map<number, number>();
  /** Journals of the redirect threads of this process, in their order. */
  readonly own: readonly number[];

  constructor(options: JournalsOptions) {
    const { root, threads, own, others = [], known, log } = options;
    this.root = identify(root);
    this.#options = options;
    this.#log = log;
    this.own = own ?? freeNumbers(threads, new Set(others));
    if (this.own.length < threads) {
      throw new Error(
        `Cannot use ${this.own.length} journals, expected one for each of ${threads}`,
      );
    }
    // Counted so far; the rest when the other process has ended.
    for (const journal of others) this.tails.publish(journal, known.endAtLeast(journal));
    const left = this.#known().filter((journal) => !others.includes(journal));
    for (const journal of new Set([...left, ...this.own])) this.recover(journal);
  }

  /** Recovers all journals but our own, after the other process has ended: the shards count them. */
  recoverOthers(): void {
    for (const journal of this.#known()) if (!this.own.includes(journal)) this.recover(journal);
  }

  #known(): number[] {
    return [...new Set([...listJournals(this.root.path), ...this.#options.known.numbers()])];
  }

  folder(journal: number): string {
    return journalFolder(this.root.path, journal);
  }

  /**
   * Cuts off a record that a crash left half-written, unless `recovery` keeps it.
   * @returns the position of the next record @throws DisplacedError if the folder has moved
   */
  recover(journal: number): number {
    assertInPlace(this.root);
    const { known, recovery } = this.#options;
    const how = recovery?.(journal) ?? {};
    const { position, tornBytes, end } = recoverJournal(
      this.folder(journal),
      known.endAtLeast(journal),
      how,
    );
    if (tornBytes > 0) {
      const done = how.torn === 'kept' ? 'left a torn tail in' : 'cut a torn tail off';
      this.#log.warn({ journal, tornBytes }, `${done} a journal`);
    }
    if (end < position) this.#logMissing(journal, end, position);
    this.tails.publish(journal, position);
    this.#begin(journal, position);
    return position;
  }

  /** Uncounted scans in the same file are lost with it; their number is unknown. */
  #logMissing(journal: number, end: number, countedTo: number): void {
    const missingBytes = countedTo - end;
    this.missingBytes.set(journal, missingBytes);
    this.#log.error(
      { journal, endsAt: end, countedTo, missingBytes },
      'the newest segment of a journal is missing: scans in it that were not counted are lost',
    );
  }

  #begin(journal: number, position: number): void {
    try {
      beginSegment(this.folder(journal), position);
    } catch (err) {
      this.#log.warn({ err, journal }, 'cannot begin a journal segment, the next scan begins it');
    }
  }

  /** Deletes segments that end below `position`, and that no other node needs. */
  deleteBelow(journal: number, position: number): void {
    const tail = this.tails.position(journal);
    if (this.#emptyAt.get(journal) === tail || displacement(this.root) !== undefined) return;
    const keptFrom = this.#options.keptFrom?.(journal) ?? Infinity;
    try {
      const [oldest] = pruneJournal(this.folder(journal), Math.min(position, keptFrom));
      // New records would have moved the tail.
      if (oldest === tail) this.#emptyAt.set(journal, tail);
    } catch (err) {
      this.#log.error({ err, journal }, 'deleting journal segments failed, retrying');
    }
  }

  /** For an edge, which counts nothing: deletes own segments that no other node needs. */
  deleteOwn(): void {
    for (const journal of this.own) this.deleteBelow(journal, Infinity);
  }

  /** By journal: the time of the oldest scan whose address is still in a file. */
  oldest(): Array<readonly [journal: number, timeMs: number | undefined]> {
    if (displacement(this.root) !== undefined) return [];
    const journals = listJournals(this.root.path);
    return journals.map((journal) => [journal, oldestRecordMs(this.folder(journal))]);
  }
}

/** Those that the store counts. */
export const journalsIn = (store: ScanStore): KnownJournals => ({
  numbers: () => lowestWatermarks(store).keys(),
  endAtLeast: (journal) => highestWatermark(store, journal),
});

/** The lowest free numbers: successive takeovers alternate between two sets. */
function freeNumbers(count: number, taken: ReadonlySet<number>): number[] {
  const free: number[] = [];
  for (let number = 0; free.length < count; number++) if (!taken.has(number)) free.push(number);
  return free;
}
