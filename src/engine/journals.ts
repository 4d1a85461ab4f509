/**
 * The journals of scans for the control thread: recovered before a thread writes, deleted once every shard is past them.
 *
 * At a takeover two processes write journals: each its own numbers. Those of the other one are left as they are, and
 * their tails are what it tells, until its process has ended: then they are recovered like any other.
 */
import { Counting } from '../scans/counting.ts';
import { assertInPlace, displacement, type Place, placeOf } from '../scans/journal/place.ts';
import {
  beginSegment,
  journalFolder,
  listJournals,
  oldestRecordMs,
  recoverJournal,
  pruneJournal,
} from '../scans/journal/segments.ts';
import { JournalPositions } from '../scans/journal/positions.ts';
import { highestWatermark, lowestWatermarks, type ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';

export class Journals {
  readonly tails = new JournalPositions();
  /** The folder of all journals: nothing is read, made or deleted in another one at its path. */
  readonly root: Place;
  readonly #store: ScanStore;
  readonly #log: Logger;
  readonly #missingBytes = new Map<number, number>();
  /** Of this process: one for each redirect thread, in their order. */
  readonly own: readonly number[];

  /**
   * @param threads redirect threads: each has a journal, beside those that earlier runs have left
   * @param others journals that another process is writing
   */
  constructor(
    root: string,
    threads: number,
    store: ScanStore,
    log: Logger,
    others: readonly number[] = [],
  ) {
    this.root = placeOf(root);
    this.#store = store;
    this.#log = log;
    this.own = freeNumbers(threads, new Set(others));
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
    return [...new Set([...listJournals(this.root.path), ...lowestWatermarks(this.#store).keys()])];
  }

  folder(journal: number): string {
    return journalFolder(this.root.path, journal);
  }

  /** By journal: bytes that were counted, and that it should have and had not at this start. */
  get missingBytes(): ReadonlyMap<number, number> {
    return this.#missingBytes;
  }

  /**
   * Cuts off what a crash left half-written.
   * @returns the position of the next record @throws PlaceError when the folder is not in place
   */
  recover(journal: number): number {
    assertInPlace(this.root);
    const { position, tornBytes, end } = recoverJournal(
      this.folder(journal),
      highestWatermark(this.#store, journal),
    );
    if (tornBytes > 0) this.#log.warn({ journal, tornBytes }, 'cut a torn tail off a journal');
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

  /** Deletes the segments that end below `position`. */
  deleteBelow(journal: number, position: number): void {
    if (displacement(this.root) !== undefined) return;
    try {
      pruneJournal(this.folder(journal), position);
    } catch (err) {
      this.#log.error({ err, journal }, 'deleting journal segments failed, retrying');
    }
  }

  /** By journal: when the oldest scan was made whose address is still in one of its files. */
  *oldest(): Generator<{ readonly journal: number; readonly timeMs: number | undefined }> {
    if (displacement(this.root) !== undefined) return;
    for (const journal of listJournals(this.root.path)) {
      yield { journal, timeMs: oldestRecordMs(this.folder(journal)) };
    }
  }

  /** How far the scans that are answered by now are counted. */
  counting(): Counting {
    return new Counting(this.#store, this.tails);
  }
}

/** The lowest free numbers, so two processes in turn use the same two sets. */
function freeNumbers(count: number, taken: ReadonlySet<number>): number[] {
  const free: number[] = [];
  for (let number = 0; free.length < count; number++) if (!taken.has(number)) free.push(number);
  return free;
}
