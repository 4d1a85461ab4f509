/**
 * Consumes the blocks of scans, which are the outbox of `qr.scanned`: creates deliveries of each for the endpoints
 * that listen. A block may hold more than one transaction should, so the cursor also counts entries of a block.
 *
 * While no endpoint of the service listens to scans no block is read: the cursor jumps to the newest, which costs
 * the same however many scans there were.
 */
import { ScanBlock } from '../../scans/block.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Delivery, NewDelivery } from '../deliveries/delivery-transaction.ts';
import { scanDeliveries } from '../deliveries/scan-deliveries.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { ConsumerCursor, type CursorPosition } from './consumer-cursor.ts';
import type { Consumer } from './consumer-loop.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Bounds of one transaction, and so of the time that it blocks the control thread. */
const createdMax = 1_000;
const blocksMax = 64;
const bytesMax = 4_194_304;

export interface BlockConsumerOptions {
  readonly store: DeliveryStore;
  readonly scans: ScanStore;
  readonly endpoints: Endpoints;
  readonly codeIdOf: (codeNo: CodeNo) => string | undefined;
  /** Called with the deliveries of each commit. */
  readonly onCreated: (deliveries: readonly Delivery[]) => void;
}

export class BlockConsumer implements Consumer {
  readonly name = 'scans';
  readonly cursor: ConsumerCursor;
  readonly #options: BlockConsumerOptions;

  constructor(options: BlockConsumerOptions) {
    this.#options = options;
    this.cursor = new ConsumerCursor(options.store, 'blocks', options.onCreated);
  }

  /** Blocks that are not consumed. */
  get lag(): number {
    return Math.max(0, newestSequence(this.#options.scans) - this.cursor.position.sequence);
  }

  async step(): Promise<boolean> {
    const { scans, endpoints } = this.#options;
    scans.environment.refresh();
    if (!endpoints.isAnyFor('qr.scanned')) {
      const sequence = newestSequence(scans);
      if (this.lag > 0) await this.cursor.advance({ sequence, entries: 0 }, []);
      return false;
    }
    const { created, position, hasMore } = this.#read();
    await this.cursor.advance(position, created);
    return hasMore;
  }

  #read(): { created: NewDelivery[]; position: CursorPosition; hasMore: boolean } {
    const { scans, endpoints, codeIdOf } = this.#options;
    const audience = {
      listeners: (workspaceNo: WorkspaceNo) => endpoints.forEvent(workspaceNo, 'qr.scanned'),
      codeIdOf,
    };
    const created: NewDelivery[] = [];
    let { position } = this.cursor;
    let bytes = 0;
    let blocks = 0;
    for (const { key, value } of scans.blocks.range({ start: position.sequence + 1 })) {
      const capacity = createdMax - created.length;
      const part = scanDeliveries(new ScanBlock(value), position.entries, audience, capacity);
      for (const delivery of part.created) created.push(delivery);
      if (part.next !== undefined) {
        position = { sequence: key - 1, entries: part.next };
        return { created, position, hasMore: true };
      }
      position = { sequence: key, entries: 0 };
      bytes += value.length;
      blocks += 1;
      const isFull = created.length >= createdMax || bytes >= bytesMax || blocks === blocksMax;
      if (isFull) return { created, position, hasMore: true };
    }
    return { created, position, hasMore: false };
  }
}
