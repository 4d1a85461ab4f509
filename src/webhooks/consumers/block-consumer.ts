/**
 * Consumes the blocks of scans, which are the outbox of `qr.scanned`: creates deliveries of each for the endpoints
 * that listen. A block may hold more than one transaction should, so the cursor also counts entries of a block.
 *
 * While no endpoint of the service listens to scans no block is read: the cursor jumps to the newest, which costs
 * the same however many scans there were.
 */
import { blockOfEvent, storedBlocks } from '../../scans/stored-blocks.ts';
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
    const { store, scans, onCreated } = options;
    this.cursor = new ConsumerCursor(
      store,
      'blocks',
      onCreated,
      ({ kind, workspaceNo, eventIds }) =>
        kind === 'qr.scanned' ? blockBefore(scans, workspaceNo, eventIds[0] ?? '') : undefined,
    );
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
    for (const [key, block] of storedBlocks(scans, { start: position.sequence + 1 })) {
      if (block === undefined) {
        position = { sequence: key, entries: 0 };
        continue;
      }
      const capacity = createdMax - created.length;
      const part = scanDeliveries(block, position.entries, audience, capacity);
      for (const delivery of part.created) created.push(delivery);
      if (part.next !== undefined) {
        position = { sequence: key - 1, entries: part.next };
        return { created, position, hasMore: true };
      }
      position = { sequence: key, entries: 0 };
      bytes += block.length;
      blocks += 1;
      const isFull = created.length >= createdMax || bytes >= bytesMax || blocks === blocksMax;
      if (isFull) return { created, position, hasMore: true };
    }
    return { created, position, hasMore: false };
  }
}

/** The block before the one with the scan of an event: of that one more deliveries may be due. */
function blockBefore(scans: ScanStore, workspaceNo: WorkspaceNo, id: string): number | undefined {
  const sequence = blockOfEvent(scans, workspaceNo, id);
  return sequence === undefined ? undefined : sequence - 1;
}
