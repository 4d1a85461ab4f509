/**
 * Converts the stored positions of scans when a core of a cluster begins to lead: they name blocks of the previous
 * leader, and each core has the same scans in its own blocks (store/scans/block-marks.ts). Later scans are sent again
 * with the same ids and bytes, about a minute of them, except those that sent-events.ts knows.
 *
 * The mark of each own block is stored with the positions that name it, so the next leader can convert them again.
 */
import { type Backlog, type DeliveryTables, scanStoreKey } from '../../store/delivery/delivery.ts';
import { lastBlockWithin, markUpTo } from '../../store/scans/block-marks.ts';
import type { ScanStore } from '../../store/scans/scans.ts';

type Scans = Pick<ScanStore, 'environment' | 'blockMarks'>;

interface ScanTakeoverOptions {
  readonly tables: DeliveryTables;
  readonly scans: Scans;
  /** This core's; empty in the restored folder of a single machine. */
  readonly store: string;
}

export class ScanTakeover {
  readonly #options: ScanTakeoverOptions;
  readonly #begins = new Set<number>();
  /** The stored positions name blocks of another or an unknown store. */
  isNew: boolean;
  readonly isTakenOver: boolean;

  constructor(options: ScanTakeoverOptions) {
    this.#options = options;
    const former = options.tables.scanStore.get(scanStoreKey, () => 'damaged') ?? '';
    this.isNew = former !== options.store;
    this.isTakenOver = this.isNew && former !== '';
  }

  /** The own block up to which everything is settled if the former core has settled everything up to `block`. */
  ownBlock(block: number): number {
    const { tables, scans } = this.#options;
    const own = this.isTakenOver ? (ownBlockOf(tables, scans, block) ?? 0) : block;
    this.#begins.add(own);
    return own;
  }

  ownBacklog(backlog: Backlog): Backlog {
    const own = this.ownBlock(settledTo(backlog));
    const waiting = backlog.waiting + backlog.open.length;
    return this.isTakenOver ? { to: [own, 0], open: [], waiting } : backlog;
  }

  /** Before the first transaction: after a loss of power no number of a block that it names is given out again. */
  async flush(): Promise<void> {
    await this.#options.scans.environment.flush();
  }

  write(): void {
    const { scans, store, tables } = this.#options;
    const { scanStore, scanMarks } = tables;
    const former = [...scanMarks.keys({})];
    for (const key of former) scanMarks.remove(key);
    if (store === '') {
      scanStore.remove(scanStoreKey);
      return;
    }
    scanStore.put(scanStoreKey, store);
    for (const block of this.#begins) {
      const row = markUpTo(scans.blockMarks, block);
      if (row !== undefined) scanMarks.put(row.key, row.value);
    }
  }

  committed(): void {
    this.isNew = false;
  }
}

export const settledTo = ({ to, open }: Backlog): number =>
  Math.min(to[0], ...open.map(([sequence]) => sequence - 1));

/** The own block up to which the leader has settled everything, for a standby; undefined if unknown. */
export function settledByLeader(tables: DeliveryTables, scans: Scans): number | undefined {
  const { environment, positions, backlogs } = tables;
  environment.refresh();
  let isDamaged = false;
  const damaged = (): undefined => void (isDamaged = true);
  let [settled] = positions.get('scans', damaged) ?? [0];
  for (const { value } of backlogs.range({}, damaged)) {
    if (value.scans !== undefined) settled = Math.min(settled, settledTo(value.scans));
  }
  return isDamaged ? undefined : ownBlockOf(tables, scans, settled);
}

/** @param block of the store that delivery.mdb names */
function ownBlockOf(
  { scanMarks }: DeliveryTables,
  { environment, blockMarks }: Scans,
  block: number,
): number | undefined {
  const row = markUpTo(scanMarks, block);
  environment.refresh();
  return row && lastBlockWithin(blockMarks, row.value);
}
