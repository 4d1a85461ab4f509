/**
 * Marks of this core's blocks, so that a client that has read events of one core continues with those of another
 * (store/scans/store-places.ts).
 *
 *   each 10 s   every core notes where its blocks end in the journals; the leader also shares its newest two notes
 *
 * The one before the newest was made before this core began to lead: no place that it has given out comes before it.
 * What is shared is on the disk here, so block numbers that it names are not given out again after a loss of power.
 */
import { dayMs } from '../../model/day.ts';
import type { Base } from '../../modules.ts';
import { type PackedMarks, ScanMarks } from '../../store/scans/scan-marks.ts';
import { MarkedPlaces, type StorePlaces } from '../../store/scans/store-places.ts';
import {
  type MarkPlace,
  type MarkRows,
  ownMarkRows,
  sharedMarkRows,
  sharedStores,
} from '../../store/scans/block-marks.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import { Ticker } from '../../telemetry/ticker.ts';

/** What a client may get twice after another core has begun to lead. */
const keepMs = 10_000;
/** Of older notes one for each such time is kept. */
const sparseMs = 900_000;
const keptMs = 30 * dayMs;
/** Of the leader: the one it began with, and the newest. */
const sharedNotes = 2;

export interface BlockMarksOptions {
  readonly base: Pick<Base, 'clock' | 'log' | 'management'>;
  readonly scans: ScanStore;
  /** Which store of scans this is. */
  readonly store: string;
  readonly isLeading: () => boolean;
}

export class BlockMarks {
  readonly #options: BlockMarksOptions;
  readonly #own: MarkRows;
  readonly #ticker: Ticker;
  #last: { readonly sequence: number; readonly text: string } | undefined;
  #thinnedMs = -Infinity;
  readonly places: StorePlaces;

  constructor(options: BlockMarksOptions) {
    this.#options = options;
    const { base, scans, store } = options;
    this.#own = ownMarkRows(scans.environment);
    this.places = new MarkedPlaces({ store, scans, management: base.management });
    this.#ticker = new Ticker({
      everyMs: keepMs,
      log: base.log,
      failed: 'noting where blocks of scans end failed, retrying',
      resumed: 'noting where blocks of scans end resumed',
      run: () => this.tick(),
    });
  }

  start(): void {
    void this.#ticker.runNow();
  }

  close(): Promise<void> {
    return this.#ticker.close();
  }

  /** @throws Failure storage_full, not_active */
  async tick(): Promise<void> {
    const { base, isLeading } = this.#options;
    const nowMs = base.clock.now();
    const isThinning = nowMs - this.#thinnedMs >= sparseMs || nowMs < this.#thinnedMs;
    await this.#note(nowMs, isThinning);
    // What another core leaves behind is thinned when this one begins to lead.
    if (isLeading()) await this.#share(nowMs, isThinning);
    this.#thinnedMs = isThinning ? nowMs : this.#thinnedMs;
  }

  async #note(nowMs: number, isThinning: boolean): Promise<void> {
    const { scans } = this.#options;
    scans.environment.refresh();
    // Of one snapshot.
    const marks: PackedMarks = ScanMarks.counted(scans).pack();
    const sequence = newestSequence(scans);
    const text = JSON.stringify(marks);
    const isKnown = this.#last?.sequence === sequence && this.#last.text === text;
    if (isKnown && !isThinning) return;
    const old = isThinning ? thinned(this.#own.places(), nowMs) : [];
    await scans.environment.transaction(() => {
      for (const place of old) this.#own.remove(place);
      if (!isKnown) this.#own.put({ sequence, timeMs: nowMs }, marks);
    });
    this.#last = { sequence, text };
  }

  async #share(nowMs: number, isThinning: boolean): Promise<void> {
    const { base, scans, store } = this.#options;
    const { cluster, environment } = base.management;
    const rows = sharedMarkRows(cluster.identity, store);
    scans.environment.refresh();
    const shared = new Set(rows.places().map(({ timeMs }) => timeMs));
    const fresh = this.#own
      .places()
      .slice(-sharedNotes)
      .filter(({ timeMs }) => !shared.has(timeMs));
    if (fresh.length === 0 && !isThinning) return;
    await scans.environment.flush();
    await environment.transaction(() => {
      for (const place of fresh) {
        const marks = this.#own.marksOf(place);
        if (marks !== undefined) rows.put(place, marks);
      }
      if (!isThinning) return;
      for (const known of sharedStores(cluster.identity)) {
        const old = sharedMarkRows(cluster.identity, known);
        for (const place of thinned(old.places(), nowMs)) old.remove(place);
      }
    });
  }
}

/** @returns what is not kept */
function thinned(places: readonly MarkPlace[], nowMs: number): MarkPlace[] {
  let keptAt = -1;
  return places.slice(0, -sharedNotes).filter(({ timeMs }) => {
    if (timeMs > nowMs - sparseMs) return false;
    const at = Math.floor(timeMs / sparseMs);
    if (timeMs > nowMs - keptMs && at !== keptAt) {
      keptAt = at;
      return false;
    }
    return true;
  });
}
