/**
 * Reads the blocks of scans, the outbox of `qr.scanned`.
 *
 *   a code with at most 10 scans in a block    one body per scan
 *   a code with more                           lists of at most `maxBatch` scans and 64 KB
 *   an endpoint that lags                      such lists across the codes of a block
 *
 * If no endpoint of a code's workspace listens, only the group header is read. Spans have 100 scans of a code, and a
 * position counts scans within a block, so reading can pause anywhere; a list never crosses a span. A scan's text is
 * the same in every list and in `GET /events` (engine/counting/scanned-event.ts).
 */
import type { ScannedCode } from '../../model/code.ts';
import { idTimeMs, parseId } from '../../model/ids.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { ScanBlock } from '../../engine/counting/block.ts';
import { blockOfEvent, lastBlockOf, storedBlocks } from '../../engine/counting/stored-blocks.ts';
import type { DeliveryRef, DeliveryForm, Position } from '../../store/delivery/delivery.ts';
import { newestSequence, type ScanStore } from '../../store/scans/scans.ts';
import { type Delivery, freshDelivery, newestFirst } from '../deliveries/delivery.ts';
import type { WheelClock } from '../deliveries/retry-wheel.ts';
import { isFor } from '../endpoints/endpoint-index.ts';
import {
  type ListenersOf,
  comparePositions,
  type NewestRange,
  only,
  type OutboxReader,
  type ReadBounds,
  type ReadResult,
} from './outbox-reader.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { WheelMs } from '../../model/wheel-time.ts';
import { scannedEvent, takeShown } from '../../engine/counting/scanned-event.ts';
import type { SentEvents } from './sent-events.ts';

/** Bounds of one read, and so of the time that it blocks the control thread. */
const blocksMax = 64;
const bytesMax = 4_194_304;
/** Bounds of a page of the API, where most blocks contribute nothing: about 50 ms. */
const shownBlocksMax = 2_048;
const shownBytesMax = 16_777_216;
const kind = 'qr.scanned';
/** A code with more scans in a block has high volume. */
const singlesMax = 10;
/** Also the largest `maxBatch`. */
const spanScans = 100;
const listBytesMax = 65_536;
const listBrackets = 2;

export interface ScanOutboxOptions {
  readonly scans: ScanStore;
  /** Returns deleted codes too. */
  readonly codeOf: (codeNo: CodeNo) => ScannedCode | undefined;
  readonly clock: WheelClock;
}

export class ScanOutbox implements OutboxReader {
  readonly name = 'scans';
  sent?: SentEvents;
  readonly #options: ScanOutboxOptions;

  constructor(options: ScanOutboxOptions) {
    this.#options = options;
  }

  get newest(): number {
    return newestSequence(this.#options.scans);
  }

  refresh(): void {
    this.#options.scans.environment.refresh();
  }

  read(from: Position, listenersOf: ListenersOf, bounds: ReadBounds): ReadResult {
    const reading = this.#reading(listenersOf);
    return this.#read(from, bounds, (...part) => scanDeliveries(reading, ...part));
  }

  #read(from: Position, { deliveriesMax, upTo }: ReadBounds, partOf: PartOf): ReadResult {
    const created: Delivery[] = [];
    let [position, bytes, blocks] = [from, 0, 0];
    for (const [sequence, block] of storedBlocks(this.#options.scans, {
      start: from[0] + 1,
      ...(upTo !== undefined && { end: upTo[0] + 1 }),
    })) {
      if (block !== undefined) {
        const fromEntry = sequence === from[0] + 1 ? from[1] : 0;
        const part = partOf(block, fromEntry, deliveriesMax - created.length);
        for (const delivery of part.created) created.push(delivery);
        if (part.next !== undefined) {
          return { created, position: [sequence - 1, part.next], hasMore: true };
        }
        bytes += block.length;
      }
      position = [sequence, 0];
      blocks += 1;
      const isFull = created.length >= deliveriesMax || bytes >= bytesMax || blocks === blocksMax;
      if (isFull) return { created, position, hasMore: true };
    }
    // If `upTo` is inside a block, that part is read later, with the whole block.
    const end: Position = upTo === undefined ? position : [upTo[0], 0];
    return {
      created,
      position: comparePositions(end, position) > 0 ? end : position,
      hasMore: false,
    };
  }

  readFor(endpoint: EndpointRecord, from: Position, bounds: ReadBounds): ReadResult {
    const reading = this.#reading(only(endpoint));
    const read = bounds.isBatched === true ? batchedDeliveries : scanDeliveries;
    return this.#read(from, bounds, (...part) => read(reading, ...part, endpoint));
  }

  newestFor(endpoint: EndpointRecord, { after, beforeId, limit }: NewestRange): Delivery[] {
    const { scans } = this.#options;
    const reading = this.#reading(only(endpoint));
    let found: Delivery[] = [];
    let [bytes, blocks] = [0, 0];
    const isId = parseId('dlv', beforeId) !== undefined;
    const start = isId ? lastBlockOf(scans, idTimeMs(beforeId)) : this.newest;
    for (const [sequence, block] of storedBlocks(scans, { start, end: after[0], reverse: true })) {
      if (block === undefined) continue;
      const oldest = found[limit - 1];
      // Blocks of several shards overlap in time, and a block orders its scans by code.
      if (oldest !== undefined && block.newestMs < idTimeMs(oldest.id)) break;
      bytes += block.length;
      if (++blocks > shownBlocksMax || bytes > shownBytesMax) break;
      const fromEntry = sequence === after[0] + 1 ? after[1] : 0;
      const { created } = scanDeliveries(reading, block, fromEntry, Number.MAX_SAFE_INTEGER);
      const earlier = created.filter(({ id }) => id < beforeId);
      found = [...found, ...earlier].toSorted(newestFirst).slice(0, limit);
    }
    return found;
  }

  at(endpoint: EndpointRecord, ref: DeliveryRef): Delivery | undefined {
    const block = this.#block(ref[0]);
    return block && scanDeliveryAt(block, ref, endpoint, this.#reading(only(endpoint)));
  }

  find(endpoint: EndpointRecord, eventId: string): Delivery | undefined {
    const { scans } = this.#options;
    const sequence = blockOfEvent(scans, endpoint.workspaceNo, eventId);
    const block = sequence === undefined ? undefined : this.#block(sequence);
    if (block === undefined) return undefined;
    const reading = this.#reading(only(endpoint));
    const { created } = scanDeliveries(reading, block, 0, Number.MAX_SAFE_INTEGER);
    return created.find(({ eventIds }) => eventIds[0] === eventId);
  }

  #block(sequence: number): ScanBlock | undefined {
    for (const [found, block] of storedBlocks(this.#options.scans, { start: sequence, limit: 1 })) {
      return found === sequence ? block : undefined;
    }
    return undefined;
  }

  #reading(listenersOf: ListenersOf): ScanReading {
    const { codeOf, clock } = this.#options;
    return { listenersOf, codeOf, dueMs: clock.now(), sent: this.sent };
  }
}

interface ScanReading {
  readonly listenersOf: ListenersOf;
  readonly codeOf: ScanOutboxOptions['codeOf'];
  readonly dueMs: WheelMs;
  readonly sent: SentEvents | undefined;
}

interface ScanPart {
  readonly created: readonly Delivery[];
  /** The next entry; undefined at the end of the block. */
  readonly next: number | undefined;
}

type PartOf = (block: ScanBlock, fromEntry: number, createdMax: number) => ScanPart;

interface Scanned {
  readonly entry: number;
  readonly id: string;
  readonly text: string;
  readonly bytes: number;
}

/** At least one span of the block, from entry `fromEntry`. @param createdMax stops after the span that reaches it */
function scanDeliveries(
  reading: ScanReading,
  block: ScanBlock,
  fromEntry: number,
  createdMax: number,
): ScanPart {
  const { listenersOf, codeOf } = reading;
  const created: Delivery[] = [];
  for (let group = 0; group < block.groups; group++) {
    const end = block.first(group) + block.count(group);
    if (end <= fromEntry) continue;
    // The events of a partly read group are counted already.
    const isCounted = block.first(group) < fromEntry;
    let known: readonly number[] | undefined;
    const entriesOf = (): readonly number[] => (known ??= scanEntries(block, group));
    const listeners = listenersOf(block.workspaceNo(group), kind, block.sequence, () =>
      isCounted ? 0 : entriesOf().length,
    );
    if (listeners.length === 0) continue;
    const code = codeOf(block.codeNo(group));
    if (code === undefined) continue;
    const entries = entriesOf();
    for (let at = 0; at < entries.length; at += spanScans) {
      const span = entries.slice(at, at + spanScans);
      const last = span.at(-1) ?? 0;
      if (last < fromEntry) continue;
      // If `maxBatch` has changed, a list must not begin before `fromEntry`.
      const scans = span
        .filter((entry) => entry >= fromEntry)
        .map((entry) => scanned(block, entry, code));
      const volume = entries.length > singlesMax ? 'high' : 'low';
      for (const endpoint of listeners) {
        const left = unsent(block, scans, endpoint, reading);
        for (const post of posts(left, maxBatchOf(endpoint, block.sequence), volume)) {
          created.push(delivery(block, endpoint, post, reading));
        }
      }
      if (created.length >= createdMax) return { created, next: last + 1 };
    }
  }
  return { created, next: undefined };
}

function batchedDeliveries(
  reading: ScanReading,
  block: ScanBlock,
  fromEntry: number,
  createdMax: number,
  endpoint: EndpointRecord,
): ScanPart {
  const created: Delivery[] = [];
  if (!isFor(endpoint, kind, block.sequence)) return { created, next: undefined };
  const scans = scansBetween(block, fromEntry, Infinity, endpoint, reading);
  for (const list of lists(scans, maxBatchOf(endpoint, block.sequence))) {
    const form = list.length === 1 ? 'one' : 'batch';
    created.push(delivery(block, endpoint, { form, scans: list }, reading));
    if (created.length >= createdMax) return { created, next: (list.at(-1)?.entry ?? 0) + 1 };
  }
  return { created, next: undefined };
}

function scanDeliveryAt(
  block: ScanBlock,
  [, first, last, form]: DeliveryRef,
  endpoint: EndpointRecord,
  reading: ScanReading,
): Delivery | undefined {
  const scans = [...scansBetween(block, first, last, endpoint, reading)];
  return scans.length === 0 ? undefined : delivery(block, endpoint, { form, scans }, reading);
}

function* scansBetween(
  block: ScanBlock,
  first: number,
  last: number,
  endpoint: EndpointRecord,
  reading: ScanReading,
): Generator<Scanned> {
  for (let group = 0; group < block.groups; group++) {
    if (block.workspaceNo(group) !== endpoint.workspaceNo) continue;
    if (block.first(group) > last || block.first(group) + block.count(group) <= first) continue;
    const code = reading.codeOf(block.codeNo(group));
    if (code === undefined) continue;
    const scans = scanEntries(block, group)
      .filter((entry) => entry >= first && entry <= last)
      .map((entry) => scanned(block, entry, code));
    yield* unsent(block, scans, endpoint, reading);
  }
}

interface Post {
  readonly form: DeliveryForm;
  readonly scans: readonly Scanned[];
}

function delivery(
  { sequence }: ScanBlock,
  { no: endpointNo, workspaceNo }: EndpointRecord,
  { form, scans }: Post,
  { dueMs }: ScanReading,
): Delivery {
  const text = scans.map((scan) => scan.text).join(',');
  const body = form === 'one' ? text : `[${text}]`;
  const eventIds = scans.map(({ id }) => id);
  const ref: DeliveryRef = [sequence, scans[0]?.entry ?? 0, scans.at(-1)?.entry ?? 0, form];
  const created = { endpointNo, workspaceNo, kind, eventIds, body } as const;
  return freshDelivery(created, { outbox: 'scans', ref }, dueMs);
}

/** Scans that the endpoint was not sent before this process started. */
function unsent(
  block: ScanBlock,
  scans: readonly Scanned[],
  { no }: EndpointRecord,
  { sent }: ScanReading,
): readonly Scanned[] {
  const known = sent?.to(no, block.newestMs);
  return known === undefined ? scans : scans.filter(({ id }) => !known.has(id));
}

function scanEntries(block: ScanBlock, group: number): number[] {
  const first = block.first(group);
  const entries: number[] = [];
  for (let entry = first; entry < first + block.count(group); entry++) {
    if (block.isScan(entry) && takeShown(block, entry)) entries.push(entry);
  }
  return entries;
}

function scanned(block: ScanBlock, entry: number, code: ScannedCode): Scanned {
  const event = scannedEvent(block, entry, code);
  const text = JSON.stringify(event);
  return { entry, id: event.id, text, bytes: Buffer.byteLength(text) };
}

const maxBatchOf = ({ maxBatch, batches = [] }: EndpointRecord, sequence: number): number =>
  batches.find(({ upTo }) => sequence <= upTo)?.maxBatch ?? maxBatch;

function* posts(
  scans: readonly Scanned[],
  maxBatch: number,
  volume: 'high' | 'low',
): Generator<Post> {
  if (volume === 'low' || maxBatch === 1) {
    for (const scan of scans) yield { form: 'one', scans: [scan] };
    return;
  }
  for (const list of lists(scans, maxBatch)) yield { form: 'list', scans: list };
}

function* lists(scans: Iterable<Scanned>, maxBatch: number): Generator<Scanned[]> {
  let list: Scanned[] = [];
  let bytes = listBrackets;
  for (const scan of scans) {
    const isFull = list.length === maxBatch || bytes + scan.bytes + 1 > listBytesMax;
    if (isFull && list.length > 0) {
      yield list;
      list = [];
      bytes = listBrackets;
    }
    list.push(scan);
    bytes += scan.bytes + 1;
  }
  if (list.length > 0) yield list;
}
