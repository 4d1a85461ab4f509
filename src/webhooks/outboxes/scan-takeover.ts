/**
 * Converts the stored positions of scans when a core of a cluster begins to lead: they name blocks of the previous
 * leader, and each core has the same scans in its own blocks (store/scans/store-places.ts). Later scans are sent again
 * with the same ids and bytes, about 20 s of them, except those that sent-events.ts knows.
 *
 * The mark of each own block is published before a position names it, so the next leader can convert it again.
 */
import type { StorePlaces } from '../../store/scans/store-places.ts';
import type { Backlog, DeliveryTables } from '../../store/delivery/delivery.ts';

const record = 'scans';

interface ScanTakeoverOptions {
  readonly tables: DeliveryTables;
  /** This core's; the restored folder of a single machine has only those of other stores. */
  readonly places: StorePlaces;
}

export class ScanTakeover {
  readonly #options: ScanTakeoverOptions;
  readonly #former: string;
  readonly #begins = new Set<number>();
  /** The stored positions name blocks of another or an unknown store. */
  isNew: boolean;
  readonly isTakenOver: boolean;

  constructor(options: ScanTakeoverOptions) {
    this.#options = options;
    this.#former = options.tables.scanStore.get(record, () => 'damaged') ?? '';
    this.isNew = this.#former !== options.places.store;
    this.isTakenOver = this.isNew && this.#former !== '';
  }

  /** The own block up to which everything is settled if the former core has settled everything up to `block`. */
  ownBlock(block: number): number {
    const { places } = this.#options;
    const own = this.isTakenOver ? (places.next(this.#former, block + 1) ?? 1) - 1 : block;
    this.#begins.add(own);
    return own;
  }

  ownBacklog(backlog: Backlog): Backlog {
    const own = this.ownBlock(settledTo(backlog));
    const waiting = backlog.waiting + backlog.open.length;
    return this.isTakenOver ? { to: [own, 0], open: [], waiting } : backlog;
  }

  /** Publishes the blocks' marks; before the first transaction. @throws Failure storage_full, not_active */
  async share(): Promise<void> {
    await this.#options.places.share([...this.#begins]);
  }

  write(): void {
    const { tables, places } = this.#options;
    if (places.store === '') tables.scanStore.remove(record);
    else tables.scanStore.put(record, places.store);
  }

  committed(): void {
    this.isNew = false;
  }
}

export const settledTo = ({ to, open }: Backlog): number =>
  Math.min(to[0], ...open.map(([sequence]) => sequence - 1));

/** The own block up to which the leader has settled everything, for a standby; undefined if unknown. */
export function settledByLeader(
  { environment, positions, backlogs, scanStore }: DeliveryTables,
  places: StorePlaces,
): number | undefined {
  environment.refresh();
  let isDamaged = false;
  const damaged = (): undefined => void (isDamaged = true);
  const leader = scanStore.get(record, damaged);
  let [settled] = positions.get('scans', damaged) ?? [0];
  for (const { value } of backlogs.range({}, damaged)) {
    if (value.scans !== undefined) settled = Math.min(settled, settledTo(value.scans));
  }
  if (leader === undefined || isDamaged) return undefined;
  const next = places.next(leader, settled + 1);
  return next === undefined ? undefined : next - 1;
}
