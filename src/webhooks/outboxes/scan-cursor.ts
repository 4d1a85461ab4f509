/**
 * Where the settled blocks of this machine end, also while another one leads and settles them: in numbers of its own, so
 * it stands in the store of the scans.
 *
 *   meta   delivered   every scan up to this block is settled for everybody: the blocks may expire
 *          routed      every scan up to here is settled, or in the backlog of an endpoint that lags
 *
 * The leader stores both as its own positions say. A standby moves them on over the blocks whose scans are all below the
 * marks that the leader has stored. Being behind does no harm: what is settled is recognised scan by scan.
 */
import type { DeliveryTables } from '../../store/delivery/delivery.ts';
import type { ScanNumberingTables } from '../../store/delivery/scan-numbering.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import { ScanMarks } from '../../store/scans/scan-marks.ts';
import { endBelow } from './scan-places.ts';
import { epochsIn, marksOf } from './settled-scans.ts';

export interface SettledBlocks {
  readonly delivered: number;
  readonly routed: number;
}

export class ScanCursor {
  readonly #scans: ScanStore;
  #stored: SettledBlocks;

  constructor(scans: ScanStore) {
    this.#scans = scans;
    const stored = (name: string): number => scans.meta.get(name, () => 0) ?? 0;
    const delivered = stored('delivered');
    this.#stored = { delivered, routed: Math.max(delivered, stored('routed')) };
  }

  get blocks(): SettledBlocks {
    return this.#stored;
  }

  /** @throws Failure storage_full */
  async store(blocks: SettledBlocks): Promise<void> {
    const { meta, environment } = this.#scans;
    const { delivered, routed } = blocks;
    if (delivered === this.#stored.delivered && routed === this.#stored.routed) return;
    await environment.transaction(() => {
      meta.put('delivered', delivered);
      meta.put('routed', routed);
    });
    this.#stored = blocks;
  }

  /** For a standby, now and then. @returns whether there is more to do at once @throws Failure storage_full */
  async follow(
    { environment, positions }: Pick<DeliveryTables, 'environment' | 'positions'>,
    tables: ScanNumberingTables,
  ): Promise<boolean> {
    environment.refresh();
    this.#scans.environment.refresh();
    const epochs = epochsIn(tables);
    const [current] = epochs;
    // For a while after a machine has begun to lead the marks of several say together what is settled.
    if (current === undefined || epochs.length > 1) return false;
    const settled = new ScanMarks(current.record.base);
    const delivered = endBelow(this.#scans, this.#stored.delivered, settled);
    const [routed] = positions.get('scans', () => undefined) ?? [0];
    for (const [block, mark] of marksOf(tables, current.epoch)) {
      if (block <= routed) settled.raise(mark);
    }
    const from = Math.max(delivered.block, this.#stored.routed);
    const read = endBelow(this.#scans, from, settled);
    await this.store({ delivered: delivered.block, routed: read.block });
    return delivered.isCut || read.isCut;
  }
}
