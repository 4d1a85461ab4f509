/**
 * Notes each 10 s where this core's blocks end in the journals (store/scans/block-marks.ts). While it leads, it also puts its
 * newest note into the store of deliveries: by it the next leader converts the block numbers there to its own.
 */
import type { Base } from '../../app/modules.ts';
import { type DeliveryTables, scanStoreKey } from '../../store/delivery/delivery.ts';
import {
  type BlockMark,
  type BlockMarks,
  currentMark,
  markUpTo,
  putMark,
} from '../../store/scans/block-marks.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import { Ticker } from '../../platform/ticker.ts';

/** The next leader may send again what this core sent in this time. */
const noteMs = 10_000;

export interface BlockNotesOptions {
  readonly base: Pick<Base, 'clock' | 'log'>;
  readonly scans: ScanStore;
  /** Names the store of scans. */
  readonly store: string;
  readonly deliveries: DeliveryTables;
  /** Whether deliveries are written here. */
  readonly isLeading: () => boolean;
}

export class BlockNotes {
  readonly #options: BlockNotesOptions;
  readonly #ticker: Ticker;

  constructor(options: BlockNotesOptions) {
    this.#options = options;
    this.#ticker = new Ticker({
      everyMs: noteMs,
      log: options.base.log,
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
    const { base, scans, store, deliveries, isLeading } = this.#options;
    scans.environment.refresh();
    // Of one snapshot.
    const [sequence, mark] = [newestSequence(scans), currentMark(scans.watermarks)];
    const key: [number, number] = [sequence, base.clock.now()];
    if (!isNoted(scans.blockMarks, sequence, mark)) {
      await scans.environment.transaction(() => putMark(scans.blockMarks, key, mark));
    }
    const { environment, scanStore, scanMarks } = deliveries;
    // Another store's until webhooks have converted them.
    const isOwn = (): boolean => scanStore.get(scanStoreKey, () => undefined) === store;
    if (!isLeading() || !isOwn() || isNoted(scanMarks, sequence, mark)) return;
    // After a loss of power the block numbers that others know are not given out again.
    await scans.environment.flush();
    await environment.transaction(() => {
      if (isOwn()) putMark(scanMarks, key, mark);
    });
  }
}

function isNoted(marks: BlockMarks, sequence: number, mark: BlockMark): boolean {
  const last = markUpTo(marks, sequence);
  return last?.key[0] === sequence && JSON.stringify(last.value) === JSON.stringify(mark);
}
