/**
 * The journals of this machine, on their way to the cores: an uplink for each.
 *
 *   asleep ──a journal was written──▶ awake: looks each 10 ms ──nothing for 100 ms──▶ asleep
 *
 * A thread that sleeps costs the next write a wake-up, so it does not fall asleep between two scans of a busy time.
 */
import type { Timers } from '../../model/clock.ts';
import type { JournalPositions } from '../../engine/journal/positions.ts';
import { journalFolder, listSegments } from '../../engine/journal/segments.ts';
import type { OrderedLog } from '../log/ordered-log.ts';
import { JournalFiles } from './journal-source.ts';
import { ScanUplink } from './scan-uplink.ts';

const awakeMs = 100;
/** What was written is sent after this time, together. */
const paceMs = 10;

export interface OwnJournalsOptions {
  readonly log: Pick<OrderedLog, 'append'>;
  readonly timers: Timers;
  /** The folder of all journals. */
  readonly root: string;
  readonly journals: readonly number[];
  readonly run: number;
  readonly tails: JournalPositions;
  /** What cores have, as far as it is known. */
  readonly arrived: ReadonlyMap<number, number>;
}

interface Own {
  readonly uplink: ScanUplink;
  /** Segments below it are deleted. */
  readonly first: number;
  seen: number;
}

export class OwnJournals {
  readonly #options: OwnJournalsOptions;
  readonly #own: ReadonlyMap<number, Own>;
  #movedMs = -Infinity;
  #cancel: () => void = () => undefined;

  constructor(options: OwnJournalsOptions) {
    this.#options = options;
    this.#own = new Map(options.journals.map((journal) => [journal, this.#open(journal)]));
  }

  /** Bytes that are on this machine's disk and not acknowledged. */
  get backlogBytes(): number {
    return this.#sum(({ uplink: { backlogBytes, position }, first }) =>
      Math.max(0, backlogBytes - Math.max(0, first - position)),
    );
  }

  get fault(): string | undefined {
    for (const { uplink } of this.#own.values())
      if (uplink.fault !== undefined) return uplink.fault;
    return undefined;
  }

  /** Begins, and is called now and then: a writer may have died between its write and the wake-up. */
  follow(): void {
    this.#cancel();
    const nowMs = this.#options.timers.monotonicMs();
    for (const [journal, own] of this.#own) {
      const tail = this.#options.tails.position(journal);
      if (tail === own.seen) continue;
      own.seen = tail;
      own.uplink.written();
      this.#movedMs = nowMs;
    }
    if (nowMs - this.#movedMs >= awakeMs && this.#sleep()) return;
    this.#cancel = this.#options.timers.after(paceMs, () => this.follow());
  }

  rewind(journal: number, position: number): void {
    this.#own.get(journal)?.uplink.rewind(position);
  }

  arrived(journal: number, position: number): void {
    this.#own.get(journal)?.uplink.arrived(position);
  }

  #sleep(): boolean {
    const { tails } = this.#options;
    const hasUnread = (): boolean =>
      [...this.#own].some(([journal, { seen }]) => tails.position(journal) !== seen);
    return tails.sleep(hasUnread, () => this.follow());
  }

  #sum(of: (own: Own) => number): number {
    return [...this.#own.values()].reduce((sum, own) => sum + of(own), 0);
  }

  #open(journal: number): Own {
    const { log, timers, root, run, tails, arrived } = this.#options;
    const folder = journalFolder(root, journal);
    const uplink = new ScanUplink({
      log,
      timers,
      journal,
      run,
      source: new JournalFiles(folder, () => tails.position(journal)),
      position: arrived.get(journal) ?? 0,
    });
    return { uplink, first: listSegments(folder)[0] ?? 0, seen: -1 };
  }
}
