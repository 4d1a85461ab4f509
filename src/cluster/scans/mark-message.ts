/**
 * What a core has, told to all nodes (msgpack, one array):
 *
 *   version    1
 *   node       its name
 *   savedSeq   up to which entry it has read the log of scans, and has it on its disk
 *   counted    [[journal, position], …]: what is below is counted, on its disk; those that have moved, and now and then all
 *   cores      names of all registered cores, as it knows them: edges know them by this alone
 *   applied    [CORE, DELIVERY]: up to which entry it had applied them ten minutes ago; absent while it does not know
 */
import { packPlain } from '../../store/codec.ts';
import type { AppliedSeqs } from '../log/applied-history.ts';
import { isCount, isCountPair, readFields } from '../message-fields.ts';
import type { JournalPosition } from './scan-transfer-thread.ts';

const messageVersion = 1;

export interface Mark {
  readonly node: string;
  readonly savedSeq: number;
  readonly counted: readonly JournalPosition[];
  readonly cores: readonly string[];
  readonly applied?: AppliedSeqs | undefined;
}

export const encodeMark = ({ node, savedSeq, counted, cores, applied }: Mark): Uint8Array =>
  packPlain([messageVersion, node, savedSeq, counted, cores, ...(applied ? [applied] : [])]);

/** @returns undefined for what is no mark, or one of another version */
export function readMark(body: Uint8Array): Mark | undefined {
  const [version, node, savedSeq, counted, cores, applied] = readFields(body) ?? [];
  if (version !== messageVersion || typeof node !== 'string' || !isCount(savedSeq))
    return undefined;
  if (!Array.isArray(counted) || !counted.every(isCountPair)) return undefined;
  if (!Array.isArray(cores) || !cores.every((name) => typeof name === 'string')) return undefined;
  if (applied === undefined) return { node, savedSeq, counted, cores };
  return isCountPair(applied) ? { node, savedSeq, counted, cores, applied } : undefined;
}
