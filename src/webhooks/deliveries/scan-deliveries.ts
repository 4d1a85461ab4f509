/**
 * Turns a block of scans into deliveries: to which endpoints, and how many scans go into one body.
 *
 *   a code with at most 10 scans in the window    one body per scan
 *   a code with more                              lists of at most `maxBatch` scans and 64 KB
 *
 * Of a code whose workspace has no listening endpoint only the group header is read. A code's scans are taken
 * in spans of 100, so that a block of any size can be interrupted and continued; a list never crosses a span.
 * The text of a scan is the same in every list and in `GET /events`: it depends on the block alone.
 */
import type { EndpointRecord } from '../../model/webhook.ts';
import type { ScanBlock } from '../../scans/block.ts';
import { scannedEvent } from '../../scans/scanned-event.ts';
import type { NewDelivery } from './delivery-transaction.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

const kind = 'qr.scanned';
/** A code with more scans in its window has high volume. */
const singlesMax = 10;
/** The largest `maxBatch`. */
const spanScans = 100;
const listBytesMax = 65_536;
const listBrackets = 2;

export interface ScanAudience {
  readonly listeners: (workspaceNo: WorkspaceNo) => readonly EndpointRecord[];
  /** The public id of a code, undefined after it was deleted. */
  readonly codeIdOf: (codeNo: CodeNo) => string | undefined;
}

export interface ScanPart {
  readonly created: readonly NewDelivery[];
  /** The entry to continue with; undefined when the block is done. */
  readonly next: number | undefined;
}

interface Scanned {
  readonly id: string;
  readonly text: string;
  readonly bytes: number;
}

/**
 * Deliveries of the block's entries from `fromEntry` on, of at least one span.
 * @param createdMax stops after the span that reaches this number
 */
export function scanDeliveries(
  block: ScanBlock,
  fromEntry: number,
  audience: ScanAudience,
  createdMax: number,
): ScanPart {
  const created: NewDelivery[] = [];
  for (let group = 0; group < block.groups; group++) {
    const end = block.first(group) + block.count(group);
    if (end <= fromEntry) continue;
    const workspaceNo = block.workspaceNo(group);
    const listeners = audience
      .listeners(workspaceNo)
      .filter(({ firstBlock }) => block.sequence > firstBlock);
    if (listeners.length === 0) continue;
    const qrId = audience.codeIdOf(block.codeNo(group));
    if (qrId === undefined) continue;
    const entries = humanEntries(block, group);
    for (let at = 0; at < entries.length; at += spanScans) {
      const span = entries.slice(at, at + spanScans);
      const last = span.at(-1) ?? 0;
      if (last < fromEntry) continue;
      const scans = span.map((entry) => scanned(block, entry, qrId));
      const volume = entries.length > singlesMax ? 'high' : 'low';
      for (const endpoint of listeners) created.push(...deliveriesTo(scans, endpoint, volume));
      if (created.length >= createdMax) return { created, next: last + 1 };
    }
  }
  return { created, next: undefined };
}

function humanEntries(block: ScanBlock, group: number): number[] {
  const first = block.first(group);
  const entries: number[] = [];
  for (let entry = first; entry < first + block.count(group); entry++) {
    if (block.bot(entry) === 0) entries.push(entry);
  }
  return entries;
}

function scanned(block: ScanBlock, entry: number, qrId: string): Scanned {
  const event = scannedEvent(block, entry, qrId);
  const text = JSON.stringify(event);
  return { id: event.id, text, bytes: Buffer.byteLength(text) };
}

function* deliveriesTo(
  scans: readonly Scanned[],
  { no: endpointNo, workspaceNo, maxBatch }: EndpointRecord,
  volume: 'high' | 'low',
): Generator<NewDelivery> {
  const to = { endpointNo, workspaceNo, kind } as const;
  if (volume === 'low' || maxBatch === 1) {
    for (const { id, text } of scans) yield { ...to, eventIds: [id], body: encode(text) };
    return;
  }
  for (const list of lists(scans, maxBatch)) {
    const text = `[${list.map((scan) => scan.text).join(',')}]`;
    yield { ...to, eventIds: list.map(({ id }) => id), body: encode(text) };
  }
}

function* lists(scans: readonly Scanned[], maxBatch: number): Generator<Scanned[]> {
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

const encoder = new TextEncoder();
const encode = (text: string): Uint8Array => encoder.encode(text);
