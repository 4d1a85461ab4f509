/**
 * What the leading core answers to a beat that was sent as a request (msgpack, one array):
 *
 *   [1, isConfirmed, refuses]
 */
import { packPlain } from '../../store/codec.ts';
import { readFields } from '../message-fields.ts';

const messageVersion = 1;

export interface ContactAnswer {
  /** The node may redirect for `permittedMs` from the sending of its beat. */
  readonly isConfirmed: boolean;
  /** `cluster.staleLinks` of the core is `refuse`. */
  readonly refuses: boolean;
}

export const encodeContactAnswer = ({ isConfirmed, refuses }: ContactAnswer): Uint8Array =>
  packPlain([messageVersion, isConfirmed, refuses]);

/** @returns undefined for bytes that are no such message, or one of another version */
export function readContactAnswer(bytes: Uint8Array): ContactAnswer | undefined {
  const [version, isConfirmed, refuses] = readFields(bytes) ?? [];
  if (version !== messageVersion) return undefined;
  if (typeof isConfirmed !== 'boolean' || typeof refuses !== 'boolean') return undefined;
  return { isConfirmed, refuses };
}
