/** A workspace's `qr.scanned` events: newest first in pages, or from a cursor on. Those of a damaged block are left out. */
import type { ScannedCode } from '../../model/code.ts';
import type { EventEnvelope } from '../../model/event.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import type { ScanBlock } from '../counting/block.ts';
import {
  blockOfEvent,
  coresMsMax,
  firstBlockOf,
  lastBlockOf,
  storedBlocks,
} from '../counting/stored-blocks.ts';
import type { Ranges } from './range.ts';
import { scannedEvent, takeShown } from '../counting/scanned-event.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

const eventBlocksMax = 2_000;
/** Bytes of blocks that one page reads at most: about 20 ms of the control thread. */
const eventBytesMax = 16_777_216;
/** For one step of a stream, many of which share the thread: about 2 ms. */
const stepBytesMax = 1_048_576;

export interface EventPage {
  readonly data: EventEnvelope[];
  readonly before?: string;
}

export interface EventCursor {
  /** The current block; earlier ones are done. */
  readonly sequence: number;
  readonly entry: number;
  /** Of the last block read before it, if that was just read. */
  readonly blockMs?: number;
}

export interface EventStep {
  readonly events: ReadonlyArray<{ readonly event: EventEnvelope; readonly cursor: EventCursor }>;
  readonly cursor: EventCursor;
  /** More is there now; otherwise wait for a commit. */
  readonly hasMore: boolean;
}

export class ScanEvents {
  readonly #store: ScanStore;
  readonly #ranges: Ranges;
  readonly #codeOf: (codeNo: CodeNo) => ScannedCode | undefined;

  constructor(
    store: ScanStore,
    ranges: Ranges,
    codeOf: (codeNo: CodeNo) => ScannedCode | undefined,
  ) {
    this.#store = store;
    this.#ranges = ranges;
    this.#codeOf = codeOf;
  }

  /** Newest first; fewer than `limit` only at a bound or at the end. @param before the `before` of the last page */
  page(workspaceNo: WorkspaceNo, before: string | undefined, limit: number): EventPage {
    this.#ranges.refresh();
    const [fromSequence, skip] = parseCursor(before);
    const data: EventEnvelope[] = [];
    let looked = 0;
    let bytes = 0;
    const range = { start: fromSequence, reverse: true, limit: eventBlocksMax };
    for (const [key, block] of storedBlocks(this.#store, range)) {
      looked++;
      bytes += block?.length ?? 0;
      if (block !== undefined) {
        const scans = [...this.#scansOf(block, workspaceNo)];
        scans.sort(([one], [other]) => block.timeMs(other) - block.timeMs(one));
        for (let at = key === fromSequence ? skip : 0; at < scans.length; at++) {
          if (data.length === limit) return { data, before: `${key}.${at}` };
          data.push(scannedEvent(block, ...scans[at]!));
        }
      }
      const hasLookedEnough = looked === eventBlocksMax || bytes >= eventBytesMax;
      if (hasLookedEnough && key > 1) return { data, before: `${key - 1}.0` };
    }
    return { data };
  }

  /** The `before` of another core's page, by the time of its block (`timeOf`). */
  pageFrom(timeMs: number): string {
    this.#ranges.refresh();
    return `${lastBlockOf(this.#store, timeMs + coresMsMax)}.0`;
  }

  newest(): EventCursor {
    this.#ranges.refresh();
    return { sequence: newestSequence(this.#store) + 1, entry: 0 };
  }

  /** Before the first block with a scan of this time or later; exact while clocks do not step back. */
  cursorAt(timeMs: number): EventCursor {
    this.#ranges.refresh();
    const [oldest] = this.#store.blocks.keys({ limit: 1 });
    const found = firstBlockOf(this.#store, timeMs);
    // Deleted blocks may have had such scans: `isPast` is then true.
    return { sequence: found === oldest && oldest > 1 ? oldest - 1 : found, entry: 0 };
  }

  /** The cursor of another core, by the time of its block (`timeOf`). */
  continuedAt(timeMs: number): EventCursor {
    return this.cursorAt(timeMs - coresMsMax);
  }

  /** Time of the block that a cursor, or the `before` of a page, names; `nowMs` before it is written. */
  timeOf(cursor: Omit<EventCursor, 'entry'> | string, nowMs: number): number {
    const at = typeof cursor === 'string' ? { sequence: parseCursor(cursor)[0] } : cursor;
    if (at.blockMs !== undefined) return Math.min(at.blockMs, nowMs);
    for (const [, block] of this.#ranges.recent.from(at.sequence)) {
      return Math.min(Math.trunc(block.newestMs), nowMs);
    }
    return nowMs;
  }

  /** The block with the scan of a workspace's event; undefined for an unknown id. */
  blockOf(workspaceNo: WorkspaceNo, eventId: string): number | undefined {
    this.#ranges.refresh();
    return blockOfEvent(this.#store, workspaceNo, eventId);
  }

  /** Whether blocks after the cursor have been deleted. */
  isPast(cursor: EventCursor): boolean {
    this.#ranges.refresh();
    for (const oldest of this.#store.blocks.keys({ limit: 1 })) return oldest > cursor.sequence;
    return newestSequence(this.#store) >= cursor.sequence;
  }

  /** At most `limit` events after a cursor, oldest first. */
  after(workspaceNo: WorkspaceNo, cursor: EventCursor, limit: number): EventStep {
    this.#ranges.refresh();
    const events: Array<{ event: EventEnvelope; cursor: EventCursor }> = [];
    let bytes = 0;
    let next = cursor;
    for (const [key, block] of this.#ranges.recent.from(cursor.sequence)) {
      const done = key === cursor.sequence ? cursor.entry : 0;
      const blockMs = Math.trunc(block.newestMs);
      for (const [entry, code] of this.#scansOf(block, workspaceNo, done)) {
        if (events.length === limit) return { events, cursor: next, hasMore: true };
        next = { sequence: key, entry: entry + 1, blockMs };
        events.push({ event: scannedEvent(block, entry, code), cursor: next });
      }
      next = { sequence: key + 1, entry: 0, blockMs };
      bytes += block.length;
      if (bytes >= stepBytesMax) return { events, cursor: next, hasMore: true };
    }
    return { events, cursor: next, hasMore: false };
  }

  /** The workspace's scans in a block, from an entry on. */
  *#scansOf(
    block: ScanBlock,
    workspaceNo: WorkspaceNo,
    from = 0,
  ): Generator<readonly [entry: number, code: ScannedCode]> {
    for (let group = 0; group < block.groups; group++) {
      if (block.workspaceNo(group) !== workspaceNo) continue;
      const end = block.first(group) + block.count(group);
      if (end <= from) continue;
      const code = this.#codeOf(block.codeNo(group));
      if (code === undefined) continue;
      for (let entry = Math.max(from, block.first(group)); entry < end; entry++) {
        if (block.isScan(entry) && takeShown(block, entry)) yield [entry, code];
      }
    }
  }
}

function parseCursor(before: string | undefined): [sequence: number, skip: number] {
  const match = before === undefined ? null : /^(\d{1,15})\.(\d{1,9})$/.exec(before);
  return match === null ? [Number.MAX_SAFE_INTEGER, 0] : [Number(match[1]), Number(match[2])];
}
