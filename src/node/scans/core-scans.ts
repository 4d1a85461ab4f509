/** The work of every core on its own store of scans, leading or not. A single machine leaves it to the services, or out. */
import { storeIdOf } from '../../cluster/scans/received-positions.ts';
import { closeAll, type Closers } from '../../engine/closers.ts';
import type { Base } from '../../modules.ts';
import type { StorePlaces } from '../../store/scans/store-places.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import { type Engine, startRetention } from '../../services.ts';
import { BlockMarks } from './block-marks.ts';

export interface CoreScansOptions {
  readonly base: Base;
  /** The id of this machine: a copy of its store on another machine is another store. */
  readonly node: string;
  readonly scans: ScanStore;
  readonly isLeading: () => boolean;
}

export class CoreScans {
  readonly #options: CoreScansOptions;
  readonly #marks: BlockMarks;
  readonly #closers: Closers = [];

  constructor(options: CoreScansOptions) {
    this.#options = options;
    const { base, node, scans } = options;
    const id = storeIdOf(scans.environment, () => base.ids.newId('n'));
    const store = `${node}.${id}`;
    this.#marks = new BlockMarks({ ...options, store });
  }

  /** Cursors that another core has given out. */
  get places(): StorePlaces {
    return this.#marks.places;
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
