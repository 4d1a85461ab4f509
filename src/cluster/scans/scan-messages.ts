/**
 * What scans of a cluster travel by (msgpack, an array each, which begins with its version):
 *
 *   stream SCANS   qz.scans.<node>        [1, journal, run, after, from, bytes]      a piece of a journal
 *   no stream      qz.ask.<node>.rewind   [1, journal, position]                     a core asks for a journal again from there
 *
 * Readers return undefined for another version, and for bytes that are no such message.
 */
import { journalsMax } from '../../scans/journal/positions.ts';
import { packPlain } from '../../store/codec.ts';
import { isCount, readFields } from '../message-fields.ts';

export const scanStream = 'SCANS';
export const scanSubjects = 'qz.scans.>';
export const scanSubject = (node: string): string => `qz.scans.${node}`;
export const rewindSubject = (node: string): string => `qz.ask.${node}.rewind`;

const version = 1;

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
  /** Whole frames (scans/record.ts). */
  readonly bytes: Uint8Array;
}

export function encodeScanMessage({ journal, run, after, from, bytes }: ScanMessage): Uint8Array {
  return packPlain([version, journal, run, after, from, bytes]);
}

export function readScanMessage(body: Uint8Array): ScanMessage | undefined {
  const fields = readFields(body);
  if (fields === undefined || fields[0] !== version) return undefined;
  const [, journal, run, after, from, bytes] = fields;
  if (!isCount(journal) || !isCount(run) || !isCount(after) || !isCount(from)) return undefined;
  if (from < after || !(bytes instanceof Uint8Array)) return undefined;
  if (bytes.length === 0 || journal >= journalsMax) return undefined;
  if (!Number.isSafeInteger(from + bytes.length)) return undefined;
  return { journal, run, after, from, bytes };
}

export interface RewindRequest {
  readonly journal: number;
  readonly position: number;
}

export const encodeRewind = ({ journal, position }: RewindRequest): Uint8Array =>
  packPlain([version, journal, position]);

export function readRewind(body: Uint8Array): RewindRequest | undefined {
  const [of, journal, position] = readFields(body) ?? [];
  if (of !== version || !isCount(journal) || !isCount(position)) return undefined;
  return { journal, position };
}

export type JournalPosition = readonly [journal: number, position: number];
