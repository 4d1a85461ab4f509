/**
 * The blocks as the outbox of `qr.scanned`: a workspace's events, newest first by page, or onwards from a
 * place, as a live stream reads them. The events of a damaged block are left out.
 */
import type { ScannedCode } from '../../model/code.ts';
import type { EventEnvelope } from '../../model/event.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import { firstReached } from '../../store/sequence-search.ts';
import { ScanBlock } from '../block.ts';
import { blockOfEvent, storedBlocks } from '../stored-blocks.ts';
import type { Ranges } from './range.ts';
import { scannedEvent, takeShown } from '../scanned-event.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Blocks one page of events looks through at most; the cursor goes on from there. */
const eventBlocksMax = 2_000;
/** Bytes of blocks one page of events reads at most: about 20 ms of the control thread. */
const eventBytesMax = 16_777_216;
/** The same for one step of a stream, many of which share the thread: about 2 ms. */
const stepBytesMax = 1_048_576;

export interface EventPage {
  readonly data: EventEnvelope[];
  /** Where the next older page begins; absent at the end. */
  readonly before?: string;
}

/** Behind an entry of a block, on the way from old to new. */
export interface EventPlace {
  /** The block that is read next; those before it are done. */
  readonly sequence: number;
  /** Entries of it that are done. */
  readonly entry: number;
}

export interface EventStep {
  readonly events: ReadonlyArray<{ readonly event: EventEnvelope; readonly place: EventPlace }>;
  /** Where the next step begins. */
  readonly place: EventPlace;
  /** More is there now; else wait for a commit. */
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

  /**
   * `qr.scanned` events of a workspace, newest first.
   * @param before the `before` of the page above; @returns fewer than `limit` only when it looked through
   * `eventBlocksMax` blocks or `eventBytesMax` bytes, or came to the end
   */
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
      const entries = block === undefined ? [] : this.#scansOf(block, workspaceNo);
      const skipped = key === fromSequence ? skip : 0;
      for (let at = skipped; at < entries.length; at++) {
        if (data.length === limit) return { data, before: `${key}.${at}` };
        data.push(entries[at]!());
      }
      const hasLookedEnough = looked === eventBlocksMax || bytes >= eventBytesMax;
      if (hasLookedEnough && key > 1) return { data, before: `${key - 1}.0` };
    }
    return { data };
  }

  /** The place behind everything that is committed. */
  newest(): EventPlace {
    this.#ranges.refresh();
    return { sequence: newestSequence(this.#store) + 1, entry: 0 };
  }

  /** The place before the first block that has a scan of this time or later; exact while clocks do not step back. */
  placeAt(timeMs: number): EventPlace {
    this.#ranges.refresh();
    const { blocks } = this.#store;
    const [oldest] = blocks.keys({ limit: 1 });
    const end = newestSequence(this.#store) + 1;
    if (oldest === undefined) return { sequence: end, entry: 0 };
    const isReached = (bytes: Uint8Array): boolean => new ScanBlock(bytes).newestMs >= timeMs;
    const found = firstReached(blocks, { from: oldest, to: end }, isReached);
    // Those before the oldest may have had such scans too: `isPast` says so.
    return { sequence: found === oldest && oldest > 1 ? oldest - 1 : found, entry: 0 };
  }

  /** The block that has the scan of a workspace's event; undefined for an unknown id. */
  blockOf(workspaceNo: WorkspaceNo, eventId: string): number | undefined {
    this.#ranges.refresh();
    return blockOfEvent(this.#store, workspaceNo, eventId);
  }

  /** Whether blocks that come after the place have been deleted already. */
  isPast(place: EventPlace): boolean {
    this.#ranges.refresh();
    for (const oldest of this.#store.blocks.keys({ limit: 1 })) return oldest > place.sequence;
    return newestSequence(this.#store) >= place.sequence;
  }

  /** Events after a place, oldest first, at most `limit` of them. */
  after(workspaceNo: WorkspaceNo, place: EventPlace, limit: number): EventStep {
    this.#ranges.refresh();
    const events: Array<{ event: EventEnvelope; place: EventPlace }> = [];
    let bytes = 0;
    let next = place;
    for (const [key, block] of this.#ranges.recent.from(place.sequence)) {
      const done = key === place.sequence ? place.entry : 0;
      for (let group = 0; group < block.groups; group++) {
        if (block.workspaceNo(group) !== workspaceNo) continue;
        const end = block.first(group) + block.count(group);
        if (end <= done) continue;
        const code = this.#codeOf(block.codeNo(group));
        if (code === undefined) continue;
        for (let entry = Math.max(done, block.first(group)); entry < end; entry++) {
          if (!block.isScan(entry) || !takeShown(block, entry)) continue;
          if (events.length === limit) return { events, place: next, hasMore: true };
          next = { sequence: key, entry: entry + 1 };
          events.push({ event: scannedEvent(block, entry, code), place: next });
        }
      }
      next = { sequence: key + 1, entry: 0 };
      bytes += block.length;
      if (bytes >= stepBytesMax) return { events, place: next, hasMore: true };
    }
    return { events, place: next, hasMore: false };
  }

  /** The workspace's scans in a block, newest first, each made into an event only when asked for. */
  #scansOf(block: ScanBlock, workspaceNo: WorkspaceNo): Array<() => EventEnvelope> {
    const found: Array<{ order: number; make: () => EventEnvelope }> = [];
    for (let group = 0; group < block.groups; group++) {
      if (block.workspaceNo(group) !== workspaceNo) continue;
      const code = this.#codeOf(block.codeNo(group));
      if (code === undefined) continue;
      const first = block.first(group);
      for (let entry = first; entry < first + block.count(group); entry++) {
        if (!block.isScan(entry) || !takeShown(block, entry)) continue;
        found.push({ order: block.timeMs(entry), make: () => scannedEvent(block, entry, code) });
      }
    }
    return found.sort((a, b) => b.order - a.order).map(({ make }) => make);
  }
}

function parseCursor(before: string | undefined): [sequence: number, skip: number] {
  const match = before === undefined ? null : /^(\d{1,15})\.(\d{1,9})$/.exec(before);
  return match === null ? [Number.MAX_SAFE_INTEGER, 0] : [Number(match[1]), Number(match[2])];
}
