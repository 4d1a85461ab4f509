/** The work of every core on its own store of scans, leading or not. A single machine leaves it to the services, or out. */
import { closeAll, type Closers } from '../../engine/closers.ts';
import type { Base } from '../../modules.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import { type Engine, startRetention } from '../../services.ts';
import type { CoreDelivery } from '../core-delivery.ts';
import { BlockMarks } from './block-marks.ts';

export interface CoreScansOptions {
  readonly base: Base;
  /** Names the store: the id of this registration, which each new disk changes. */
  readonly store: string;
  readonly scans: ScanStore;
  readonly delivery: CoreDelivery;
}

export class CoreScans {
  readonly #options: CoreScansOptions;
  readonly #marks: BlockMarks;
  readonly #closers: Closers = [];

  constructor(options: CoreScansOptions) {
    this.#options = options;
    const { delivery } = options;
    this.#marks = new BlockMarks({
      ...options,
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
