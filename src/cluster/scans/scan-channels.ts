/**
 * What scans of a cluster travel by:
 *
 *   stream SCANS   qz.scans.<node>        pieces of its journals (scan-message.ts)
 *   no stream      qz.ask.<node>.rewind   [1, journal, position]   a core asks for a journal again from there
 *                  qz.marks               what cores have (mark-message.ts)
 */
import { packPlain } from '../../store/codec.ts';
import { isCount, readFields } from '../message-fields.ts';

export const scanStream = 'SCANS';
export const scanSubjects = 'qz.scans.>';
export const scanSubject = (node: string): string => `qz.scans.${node}`;
export const marksSubject = 'qz.marks';
export const rewindSubject = (node: string): string => `qz.ask.${node}.rewind`;

const rewindVersion = 1;

export interface RewindRequest {
  readonly journal: number;
  readonly position: number;
}

export const encodeRewind = ({ journal, position }: RewindRequest): Uint8Array =>
  packPlain([rewindVersion, journal, position]);

/** @returns undefined for what is no such request, or one of another version */
export function readRewind(body: Uint8Array): RewindRequest | undefined {
  const [version, journal, position] = readFields(body) ?? [];
  if (version !== rewindVersion || !isCount(journal) || !isCount(position)) return undefined;
  return { journal, position };
}
