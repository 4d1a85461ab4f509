/**
 * Follows the blocks of scans, which are the outbox of `qr.scanned`: makes deliveries of each for the
 * endpoints that listen, and moves the cursor, in one transaction. The cursor is a block's sequence and how
 * many entries of the next one are done, for a block may hold more than one transaction should.
 *
 * While nobody in the service listens to scans no block is read: the cursor jumps to the newest, which
 * costs the same however many scans there were. It is stored now and then; going back finds nobody again,
 * for an endpoint gets nothing that is older than itself.
 */
import { ScanBlock } from '../../scans/block.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Delivery, NewDelivery } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { Consumer } from './consumer-loop.ts';
import { scanDeliveries } from '../deliveries/scan-deliveries.ts';

/** Bounds of one transaction, and so of the time it holds the control thread. */
const madeMax = 1_000;
const blocksMax = 64;
const bytesMax = 4_194_304;

export interface BlockConsumerOptions {
  readonly book: DeliveryStore;
  readonly scans: ScanStore;
  readonly endpoints: Endpoints;
  readonly codeIdOf: (codeNo: number) => string | undefined;
  /** Given what was committed. */
  readonly onMade: (deliveries: readonly Delivery[]) => void;
}

/** Blocks up to `sequence` are done, and so many entries of the one after it. */
interface Cursor {
  readonly sequence: number;
  readonly entries: number;
}

export class BlockConsumer implements Consumer {
  readonly name = 'scans';
  readonly #options: BlockConsumerOptions;
  #cursor: Cursor;
  #stored: number;

  constructor(options: BlockConsumerOptions) {
    this.#options = options;
    const [sequence, entries] = options.book.store.cursors.get('blocks') ?? [0, 0];
    this.#cursor = { sequence, entries };
    this.#stored = sequence;
  }

  /** Blocks up to here are done with, also after a crash. */
  get delivered(): number {
    return this.#stored;
  }

  /** Blocks that are not done. */
  get lag(): number {
    return Math.max(0, newestSequence(this.#options.scans) - this.#cursor.sequence);
  }

  async step(): Promise<boolean> {
    const { scans, endpoints, book, onMade } = this.#options;
    scans.environment.refresh();
    if (!endpoints.isAnyFor('qr.scanned')) {
      const sequence = newestSequence(scans);
      if (sequence > this.#cursor.sequence) this.#cursor = { sequence, entries: 0 };
      return false;
    }
    const { made, cursor, hasMore } = this.#read();
    if (made.length === 0) {
      this.#cursor = cursor;
      return hasMore;
    }
    const deliveries = await book.write((pen) => {
      book.store.cursors.put('blocks', [cursor.sequence, cursor.entries]);
      return made.map((delivery) => pen.create(delivery));
    });
    this.#cursor = cursor;
    this.#stored = cursor.sequence;
    onMade(deliveries);
    return hasMore;
  }

  /** Stores a cursor that moved past blocks without deliveries. */
  async save(): Promise<void> {
    const { sequence, entries } = this.#cursor;
    if (sequence === this.#stored) return;
    const { book } = this.#options;
    await book.write(() => {
      // A step may have stored a later one meanwhile.
      const [stored] = book.store.cursors.get('blocks') ?? [0];
      if (stored < sequence) book.store.cursors.put('blocks', [sequence, entries]);
    });
    this.#stored = Math.max(this.#stored, sequence);
  }

  #read(): { made: NewDelivery[]; cursor: Cursor; hasMore: boolean } {
    const { scans, endpoints, codeIdOf } = this.#options;
    const audience = {
      listeners: (workspaceNo: number) => endpoints.forEvent(workspaceNo, 'qr.scanned'),
      codeIdOf,
    };
    const made: NewDelivery[] = [];
    let cursor = this.#cursor;
    let bytes = 0;
    let blocks = 0;
    for (const { key, value } of scans.blocks.range({ start: cursor.sequence + 1 })) {
      const room = madeMax - made.length;
      const part = scanDeliveries(new ScanBlock(value), cursor.entries, audience, room);
      for (const delivery of part.made) made.push(delivery);
      if (part.next !== undefined) {
        return { made, cursor: { sequence: key - 1, entries: part.next }, hasMore: true };
      }
      cursor = { sequence: key, entries: 0 };
      bytes += value.length;
      blocks += 1;
      const isEnough = made.length >= madeMax || bytes >= bytesMax || blocks === blocksMax;
      if (isEnough) return { made, cursor, hasMore: true };
    }
    return { made, cursor, hasMore: false };
  }
}
