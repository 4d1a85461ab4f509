/**
 * The messages that carry scans in a cluster (each a msgpack array that begins with its version):
 *
 *   stream SCANS   qz.scans.<node>        [1, journal, run, after, from, bytes]      a piece of a journal
 *   no stream      qz.ask.<node>.rewind   [1, journal, position]                     a core asks for a journal again from there
 *
 * Readers return undefined for another version, and for other bytes.
 */
import { journalsMax } from '../../engine/journal/positions.ts';
import { isCount, messageFormat } from '../message-fields.ts';

export const scanStream = 'SCANS';
export const scanSubjects = 'qz.scans.>';
export const scanSubject = (node: string): string => `qz.scans.${node}`;
export const rewindSubject = (node: string): string => `qz.ask.${node}.rewind`;

/** Positions name scans for good: they show whether a piece is new, also if it comes twice, late, or cut in another way. */
export interface ScanMessage {
  /** Its number, of the whole cluster. */
  readonly journal: number;
  /** Of the node that writes it: the higher one is the node, a lower one a copy of it that must not count. */
  readonly run: number;
  /** Where the previous piece ended. */
  readonly after: number;
  /** Position of the first byte: above `after` where the journal has a hole. */
  readonly from: number;
  /** Whole frames (engine/journal/record.ts). */
  readonly bytes: Uint8Array;
}

const scanFormat = messageFormat<ScanMessage>({
  journal: isCount,
  run: isCount,
  after: isCount,
  from: isCount,
  bytes: (value): value is Uint8Array => value instanceof Uint8Array,
});
export const encodeScanMessage = scanFormat.encode;

export function readScanMessage(body: Uint8Array): ScanMessage | undefined {
  const message = scanFormat.read(body);
  if (message === undefined) return undefined;
  const { journal, after, from, bytes } = message;
  if (from < after || bytes.length === 0 || journal >= journalsMax) return undefined;
  return Number.isSafeInteger(from + bytes.length) ? message : undefined;
}

export interface RewindRequest {
  readonly journal: number;
  readonly position: number;
}

export const { encode: encodeRewind, read: readRewind } = messageFormat<RewindRequest>({
  journal: isCount,
  position: isCount,
});

export type JournalPosition = readonly [journal: number, position: number];
