/**
 * An entry of the replicated log, as bytes (msgpack, one array):
 *
 *   version   1; a program stops at an entry that counts and has a newer one
 *   epoch     which leader wrote it: 1, 2, …
 *   n         its number in the epoch: a `lead` has 0, each `tx` the next; `beat` and `release` repeat the newest
 *   chain     of the writer before this entry (chainAfter): equal on all machines that replayed the same log
 *   kind      and the fields of that kind:
 *
 *     'lead'  owner, url, version, after   from here on this process writes; it had read the former epoch up to n = `after`
 *     'tx'    part, parts, bytes           writes of a batch of transactions, in parts that fit a message
 *     'beat'  count                        the leader's heartbeat
 *     'release'  to                        the leader holds no lease any more; `to` (an owner) shall lead next, empty = any
 *
 * The first three stay where they are in every version: they alone say whether an entry counts.
 */
import { hash } from 'node:crypto';
import { packPlain, unpackPlain } from '../../store/codec.ts';
import { isCount, readFields } from '../message-fields.ts';
import type { StoredWrite } from '../../store/replicated-transactions.ts';

const entryVersion = 1;

/** Bytes of writes in one `tx`: a NATS message has at most 1 MB, and a larger one delays those after it. */
const partBytesMax = 512 * 1_024;
/** Bytes of writes in one batch: 128 messages. The largest transaction of the service, a bulk of 5,000 codes, has 5 MB. */
export const writesBytesMax = 128 * partBytesMax;

export const chainBytes = 16;
/** The chain before the first entry. */
export const emptyChain: Uint8Array = new Uint8Array(chainBytes);

/** A process that may lead. */
export interface Leader {
  /** Names one run of a machine's process: no other run has the same. */
  readonly owner: string;
  /** Where the others reach its API. */
  readonly url: string;
  /** Of the program. */
  readonly version: string;
}

export interface EntryHead {
  readonly version: number;
  readonly epoch: number;
  readonly n: number;
}

export type EntryContent =
  | { readonly kind: 'lead'; readonly leader: Leader; readonly after: number }
  | {
      readonly kind: 'tx';
      readonly part: number;
      readonly parts: number;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'beat'; readonly count: number }
  | { readonly kind: 'release'; readonly to: string };

export type Entry = Omit<EntryHead, 'version'> & { readonly chain: Uint8Array } & EntryContent;

export function encodeEntry(entry: Entry): Uint8Array {
  const head = [entryVersion, entry.epoch, entry.n, entry.chain, entry.kind];
  if (entry.kind === 'tx') return packPlain([...head, entry.part, entry.parts, entry.bytes]);
  if (entry.kind === 'beat') return packPlain([...head, entry.count]);
  if (entry.kind === 'release') return packPlain([...head, entry.to]);
  const { owner, url, version } = entry.leader;
  return packPlain([...head, owner, url, version, entry.after]);
}

/** What was read: `content` is undefined where this program does not know it. */
export interface ReadEntry {
  readonly head: EntryHead;
  readonly chain: Uint8Array;
  readonly content: EntryContent | undefined;
}

/** @returns undefined for bytes that are no entry of any version */
export function readEntry(body: Uint8Array): ReadEntry | undefined {
  const fields = readFields(body);
  if (fields === undefined) return undefined;
  const [version, epoch, n, chain, kind, ...more] = fields;
  if (!isCount(version) || version < 1 || !isCount(epoch) || epoch < 1 || !isCount(n)) {
    return undefined;
  }
  const head = { version, epoch, n };
  if (version > entryVersion) return { head, chain: emptyChain, content: undefined };
  if (!(chain instanceof Uint8Array) || chain.length !== chainBytes) return undefined;
  return { head, chain, content: readContent(kind, more) };
}

function readContent(
  kind: unknown,
  [first, second, third, fourth]: readonly unknown[],
): EntryContent | undefined {
  switch (kind) {
    case 'lead':
      if (typeof first !== 'string' || typeof second !== 'string') return undefined;
      if (typeof third !== 'string' || !isCount(fourth)) return undefined;
      return { kind, leader: { owner: first, url: second, version: third }, after: fourth };
    case 'tx':
      if (!isCount(first) || !isCount(second) || first >= second) return undefined;
      if (!(third instanceof Uint8Array)) return undefined;
      return { kind, part: first, parts: second, bytes: third };
    case 'beat':
      return isCount(first) ? { kind, count: first } : undefined;
    case 'release':
      return typeof first === 'string' ? { kind, to: first } : undefined;
    default:
      return undefined;
  }
}

/**
 * The chain after this entry: a digest of all entries that counted, in their order, beats and releases left out.
 * Two machines with equal chains have replayed the same log.
 * @param chain before the entry @param body the encoded entry
 */
export function chainAfter(chain: Uint8Array, body: Uint8Array): Uint8Array {
  return hash('sha256', Buffer.concat([chain, body]), 'buffer').subarray(0, chainBytes);
}

/** @returns parts of `partBytes`, the last one shorter @throws RangeError above writesBytesMax */
export function encodeWrites(
  writes: readonly StoredWrite[],
  partBytes = partBytesMax,
): Uint8Array[] {
  const bytes = packPlain(writes);
  if (bytes.length > writesBytesMax) {
    throw new RangeError(
      `Cannot replicate a transaction of ${bytes.length} bytes, expected at most ${writesBytesMax}`,
    );
  }
  const parts: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += partBytes) {
    parts.push(bytes.subarray(start, start + partBytes));
  }
  return parts;
}

/** @param parts of one batch, in order @throws Error for bytes that are no writes */
export function decodeWrites(parts: readonly Uint8Array[]): StoredWrite[] {
  const [only, ...others] = parts;
  const bytes = only !== undefined && others.length === 0 ? only : Buffer.concat(parts);
  const writes = unpackPlain(bytes);
  if (!Array.isArray(writes) || !writes.every(isWrite)) {
    throw new Error(
      'Cannot read the writes of a log entry: they are no list of table, key and bytes',
    );
  }
  return writes;
}

function isWrite(write: unknown): write is StoredWrite {
  if (!Array.isArray(write) || write.length < 2 || write.length > 3) return false;
  return typeof write[0] === 'string' && (write.length === 2 || write[2] instanceof Uint8Array);
}
