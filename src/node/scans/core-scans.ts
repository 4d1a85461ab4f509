/** The work of every core on its own store of scans, leading or not. A single machine leaves it to the services, or out. */
import { storeIdOf } from '../../cluster/scans/received-positions.ts';
import { closeAll, type Closers } from '../../engine/closers.ts';
import type { Base } from '../../modules.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import { type Engine, startRetention } from '../../services.ts';
import type { CoreDelivery } from '../core-delivery.ts';
import { BlockMarks } from './block-marks.ts';

export interface CoreScansOptions {
  readonly base: Base;
  /** The id of this machine: a copy of its store on another machine is another store. */
  readonly node: string;
  readonly scans: ScanStore;
  readonly delivery: CoreDelivery;
}

export class CoreScans {
  readonly #options: CoreScansOptions;
  /** Names this store of scans: each core numbers blocks for itself. */
  readonly store: string;
  readonly #marks: BlockMarks;
  readonly #closers: Closers = [];

  constructor(options: CoreScansOptions) {
    this.#options = options;
    const { base, node, scans, delivery } = options;
    const id = storeIdOf(scans.environment, () => base.ids.newId('n'));
    this.store = `${node}.${id}`;
    this.#marks = new BlockMarks({
      base,
      scans,
      store: this.store,
      deliveries: delivery.tables,
      isLeading: () => delivery.replication.isHeld,
    });
  }

  start({ threads }: Engine): void {
    this.#marks.start();
    const retention = startRetention(this.#options.base, threads);
    this.#closers.push(
      () => retention.close(),
      () => this.#marks.close(),
    );
  }

  close(): Promise<void> {
    return closeAll(this.#closers);
  }
}
