/**
 * A piece of an edge's journal on its way to the cores (msgpack, one array):
 *
 *   version   1
 *   journal   its number, of the whole cluster
 *   run       of the edge that writes it: the higher one is the edge, a lower one a copy of it that must not count
 *   after     where the piece before it ended
 *   from      position of its first byte: above `after` where the journal has a hole, which it says so
 *   bytes     whole frames (scans/record.ts)
 *
 * Positions name scans for good, so a piece that comes twice, late, or cut in another way is told from what is new by
 * them alone.
 */
import { journalsMax } from '../../scans/journal/positions.ts';
import { packPlain } from '../../store/codec.ts';
import { isCount, readFields } from '../message-fields.ts';

const messageVersion = 1;

export interface ScanMessage {
  readonly journal: number;
  readonly run: number;
  readonly after: number;
  readonly from: number;
  readonly bytes: Uint8Array;
}

export function encodeScanMessage({ journal, run, after, from, bytes }: ScanMessage): Uint8Array {
  return packPlain([messageVersion, journal, run, after, from, bytes]);
}

/** @returns undefined for bytes that are no such message, or one of another version */
export function readScanMessage(body: Uint8Array): ScanMessage | undefined {
  const fields = readFields(body);
  if (fields === undefined || fields[0] !== messageVersion) return undefined;
  const [, journal, run, after, from, bytes] = fields;
  if (!isCount(journal) || !isCount(run) || !isCount(after) || !isCount(from)) return undefined;
  if (from < after || !(bytes instanceof Uint8Array)) return undefined;
  if (bytes.length === 0 || journal >= journalsMax) return undefined;
  if (!Number.isSafeInteger(from + bytes.length)) return undefined;
  return { journal, run, after, from, bytes };
}
