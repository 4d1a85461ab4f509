/**
 * The journals of scans for the control thread: recovered before a thread writes, deleted once every shard is past them.
 *
 * At a takeover two processes write journals: each its own numbers. Those of the other one are left as they are, and
 * their tails are what it tells, until its process has ended: then they are recovered like any other.
 *
 * In a cluster the numbers of our own are handed in, and journals of other nodes are written by a thread of this process
 * (cluster/scans/): it starts once those that an earlier run has left are recovered here, and recovers by itself what it
 * begins to write. What appears in `tails` is counted by the shards like our own.
 */
import { Counting } from '../scans/counting.ts';
import { assertInPlace, displacement, type Place, placeOf } from '../scans/journal/place.ts';
import {
  beginSegment,
  journalFolder,
  listJournals,
  oldestRecordMs,
  recoverJournal,
  type RecoverOptions,
  pruneJournal,
} from '../scans/journal/segments.ts';
import { JournalPositions } from '../scans/journal/positions.ts';
import { highestWatermark, lowestWatermarks, type ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';

/** What is known of journals by other means than their files. */
export interface KnownJournals {
  numbers(): Iterable<number>;
  /** A journal goes on there at least: after a power loss its files may end before what others have had of it. */
  endAtLeast(journal: number): number;
}

export interface JournalsOptions {
  readonly root: string;
  /** Redirect threads: each has a journal, beside those that earlier runs have left. */
  readonly threads: number;
  /** Theirs, in their order; absent = the lowest numbers that are free. */
  readonly own?: readonly number[] | undefined;
  /** Journals that another process is writing. */
  readonly others?: readonly number[] | undefined;
  /** Position from which on other nodes still need a journal, Infinity = nothing of it; absent = there are none. */
  readonly keptFrom?: ((journal: number) => number) | undefined;
  /** What a recovery keeps and cuts; absent = a torn tail is cut. */
  readonly recovery?: ((journal: number) => RecoverOptions) | undefined;
  readonly known: KnownJournals;
  readonly log: Logger;
}

export class Journals {
  readonly tails = new JournalPositions();
  /** The folder of all journals: nothing is read, made or deleted in another one at its path. */
  readonly root: Place;
  readonly #options: JournalsOptions;
  readonly #log: Logger;
  readonly #missingBytes = new Map<number, number>();
  /** By journal, its tail when nothing was left of it but an empty segment: there is nothing to delete until it moves. */
  readonly #emptyAt = new Map<number, number>();
  /** Of this process: one for each redirect thread, in their order. */
  readonly own: readonly number[];

  constructor(options: JournalsOptions) {
    const { root, threads, own, others = [], log } = options;
    this.root = placeOf(root);
    this.#options = options;
    this.#log = log;
    this.own = own ?? freeNumbers(threads, new Set(others));
    if (this.own.length < threads) {
      throw new Error(
        `Cannot use ${this.own.length} journals, expected one for each of ${threads}`,
      );
    }
    const left = this.#known().filter((journal) => !others.includes(journal));
    for (const journal of new Set([...left, ...this.own])) this.recover(journal);
  }

  /** By journal, how far each of this process is written. */
  ownTails(): Array<readonly [journal: number, position: number]> {
    return this.own.map((journal) => [journal, this.tails.position(journal)]);
  }

  /** Another process has ended: all journals but our own are recovered, and what they hold can be counted. */
  recoverOthers(): void {
    for (const journal of this.#known()) if (!this.own.includes(journal)) this.recover(journal);
  }

  #known(): number[] {
    return [...new Set([...listJournals(this.root.path), ...this.#options.known.numbers()])];
  }

  folder(journal: number): string {
    return journalFolder(this.root.path, journal);
  }

  /** By journal: bytes that were counted, and that it should have and had not at this start. */
  get missingBytes(): ReadonlyMap<number, number> {
    return this.#missingBytes;
  }

  /**
   * Cuts off what a crash left half-written, where `recovery` says no other.
   * @returns the position of the next record @throws PlaceError when the folder is not in place
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
    if (end < position) this.#tellMissing(journal, end, position);
    this.tails.publish(journal, position);
    this.#begin(journal, position);
    return position;
  }

  /** What followed in the same file is lost with it: how much is not known. */
  #tellMissing(journal: number, end: number, countedTo: number): void {
    const missingBytes = countedTo - end;
    this.#missingBytes.set(journal, missingBytes);
    this.#log.error(
      { journal, endsAt: end, countedTo, missingBytes },
      'the newest segment of a journal is missing: scans in it that were not counted are lost',
    );
  }

  #begin(journal: number, position: number): void {
    try {
      beginSegment(this.folder(journal), position);
    } catch (err) {
      this.#log.warn({ err, journal }, 'ending a journal segment failed, the next scan ends it');
    }
  }

  /** Deletes the segments that end below `position`, as far as no other node needs them. */
  deleteBelow(journal: number, position: number): void {
    const tail = this.tails.position(journal);
    if (this.#emptyAt.get(journal) === tail || displacement(this.root) !== undefined) return;
    const keptFrom = this.#options.keptFrom?.(journal) ?? Infinity;
    try {
      const [oldest] = pruneJournal(this.folder(journal), Math.min(position, keptFrom));
      // Where records came since the tail was read, it has moved.
      if (oldest === tail) this.#emptyAt.set(journal, tail);
    } catch (err) {
      this.#log.error({ err, journal }, 'deleting journal segments failed, retrying');
    }
  }

  /** The same for our own where nothing is counted: what no other node needs. Called every second. */
  deleteOwn(): void {
    for (const journal of this.own) this.deleteBelow(journal, Infinity);
  }

  /** By journal: when the oldest scan was made whose address is still in one of its files. */
  *oldest(): Generator<{ readonly journal: number; readonly timeMs: number | undefined }> {
    if (displacement(this.root) !== undefined) return;
    for (const journal of listJournals(this.root.path)) {
      yield { journal, timeMs: oldestRecordMs(this.folder(journal)) };
    }
  }
}

/** Of a process that counts them. */
export class CountedJournals extends Journals {
  readonly #store: ScanStore;

  constructor(store: ScanStore, options: Omit<JournalsOptions, 'known'>) {
    super({ ...options, known: journalsIn(store) });
    this.#store = store;
  }

  /** How far the scans that are answered by now are counted. */
  counting(): Counting {
    return new Counting(this.#store, this.tails);
  }
}

const journalsIn = (store: ScanStore): KnownJournals => ({
  numbers: () => lowestWatermarks(store).keys(),
  endAtLeast: (journal) => highestWatermark(store, journal),
});

/** The lowest free numbers, so two processes in turn use the same two sets. */
function freeNumbers(count: number, taken: ReadonlySet<number>): number[] {
  const free: number[] = [];
  for (let number = 0; free.length < count; number++) if (!taken.has(number)) free.push(number);
  return free;
}
