/**
 * The journal on disk: `<folder>/<journal>/<start>.log`, one folder per redirect thread.
 *
 * A position is a byte offset in the journal's whole life; it only grows and is never reused, for ids
 * and watermarks name scans by it. A segment is named by the position of its first byte, so a reader
 * finds its place by names alone. The newest segment is never deleted: it keeps the position. It may be empty:
 * each journal is ended by an empty one when it has been written for a minute, at a stop and at a start, so that
 * no address stays on the disk after it is counted.
 */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import {
  frameHeaderBytes,
  framePayloadBytes,
  frameTimeMs,
  isFrameHeader,
  isFramePayloadSound,
} from '../record.ts';
import { journalsMax } from './positions.ts';

const nameDigits = 16;

export const journalFolder = (root: string, journal: number): string => join(root, String(journal));
export const segmentFile = (folder: string, start: number): string =>
  join(folder, `${String(start).padStart(nameDigits, '0')}.log`);

/**
 * Numbers of the journals that exist, ascending: also those of threads that are no longer configured.
 * @throws Error of the system where the folder is not in place
 */
export function listJournals(root: string): number[] {
  return readdirSync(root)
    .filter((name) => /^\d{1,5}$/.test(name))
    .map(Number)
    .filter((journal) => journal < journalsMax)
    .sort((a, b) => a - b);
}

/** Start positions of a journal's segments, ascending. */
export function listSegments(folder: string): number[] {
  return readdirSync(folder)
    .filter((name) => /^\d{16}\.log$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .sort((a, b) => a - b);
}

/** The position behind the last byte of a journal that nobody writes; 0 where it has no segment. */
export function journalEnd(folder: string): number {
  const newest = listSegments(folder).at(-1);
  return newest === undefined ? 0 : newest + statSync(segmentFile(folder, newest)).size;
}

export interface Recovered {
  /** Where the next frame goes. */
  readonly position: number;
  /** Bytes cut off the end: a write that the process or the power did not finish. */
  readonly tornBytes: number;
  /** Where the journal ends: below `position` when it has lost what the store has counted. */
  readonly end: number;
}

export interface RecoverOptions {
  /**
   * What follows the last sound frame. `kept` in a cluster, where other machines may have what stood there: its
   * positions are not given out again, and readers skip and report it as they do all damage. Default `cut`.
   */
  readonly torn?: 'cut' | 'kept';
  /** What stands behind is cut first, whole or not: other machines send it again. Never below `atLeast`. */
  readonly atMost?: number;
}

/**
 * Makes a journal ready for its writer: cuts a torn tail off the newest segment.
 * Only what follows the last sound frame is cut; a damaged frame in the middle stays for the reader
 * to skip and report.
 * @param folder made when absent, in the folder of all journals, which is never made here: it may be not in place
 * @param atLeast the highest watermark known: after a power loss the store may be ahead of the journal
 */
export function recoverJournal(
  folder: string,
  atLeast: number,
  { torn = 'cut', atMost = Infinity }: RecoverOptions = {},
): Recovered {
  if (!existsSync(folder)) mkdirSync(folder, 0o700);
  cutBehind(folder, Math.max(atLeast, atMost));
  const start = listSegments(folder).at(-1);
  if (start === undefined) return { position: atLeast, tornBytes: 0, end: 0 };
  const file = segmentFile(folder, start);
  const bytes = readFileSync(file);
  const sound = endOfLastSoundFrame(bytes);
  const tornBytes = bytes.length - sound;
  if (torn === 'cut' && tornBytes > 0) truncate(file, sound);
  const end = start + (torn === 'cut' ? sound : bytes.length);
  return { position: Math.max(end, atLeast), tornBytes, end };
}

function cutBehind(folder: string, position: number): void {
  for (const start of listSegments(folder).toReversed()) {
    const file = segmentFile(folder, start);
    if (start < position) {
      if (start + statSync(file).size > position) truncate(file, position - start);
      return;
    }
    if (start > position) rmSync(file);
    else truncate(file, 0);
  }
}

function truncate(file: string, bytes: number): void {
  const descriptor = openSync(file, 'r+');
  ftruncateSync(descriptor, bytes);
  fdatasyncSync(descriptor);
  closeSync(descriptor);
}

/**
 * Begins an empty segment at the end of a journal whose newest one has records: that one can be deleted once it
 * is counted, also where no writer comes back to end it. A journal that has lost its segments gets one as well: it
 * keeps the position.
 * @param position as `recoverJournal` says @throws Error of the system
 */
export function beginSegment(folder: string, position: number): void {
  const newest = listSegments(folder).at(-1);
  if ((newest ?? 0) === position) return;
  closeSync(openSync(segmentFile(folder, position), 'a', 0o600));
}

/** Bytes of a segment up to the end of its last sound frame; 0 without one, or without the file. */
export function soundEnd(file: string): number {
  try {
    return endOfLastSoundFrame(readFileSync(file));
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}

function endOfLastSoundFrame(bytes: Buffer): number {
  let at = 0;
  let sound = 0;
  while (at + frameHeaderBytes <= bytes.length) {
    if (!isFrameHeader(bytes, at)) {
      at = findFrameHeader(bytes, at + 1);
      continue;
    }
    const next = at + frameHeaderBytes + framePayloadBytes(bytes, at);
    if (isFramePayloadSound(bytes, at)) sound = next;
    at = next;
  }
  return sound;
}

/** Offset of the next sound frame header at or after `from`; else `bytes.length`. */
export function findFrameHeader(bytes: Buffer, from: number): number {
  let at = bytes.indexOf('QZJ1', from, 'latin1');
  while (at !== -1) {
    if (isFrameHeader(bytes, at)) return at;
    at = bytes.indexOf('QZJ1', at + 1, 'latin1');
  }
  return bytes.length;
}

/** When the oldest scan that is still in a file was made, by its cycle's clock; undefined without one. */
export function oldestRecordMs(folder: string): number | undefined {
  const header = Buffer.alloc(frameHeaderBytes);
  for (const start of listSegments(folder)) {
    const descriptor = openIfThere(segmentFile(folder, start));
    if (descriptor === undefined) continue;
    const bytes = readSync(descriptor, header, 0, frameHeaderBytes, 0);
    closeSync(descriptor);
    if (bytes === frameHeaderBytes && isFrameHeader(header, 0)) return frameTimeMs(header, 0);
  }
  return undefined;
}

/** Undefined when the segment was counted and deleted since it was listed. */
function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Deletes segments that end at or below `position`. @returns where those begin that are left */
export function pruneJournal(folder: string, position: number): readonly number[] {
  const starts = listSegments(folder);
  let deleted = 0;
  while (deleted + 1 < starts.length && starts[deleted + 1]! <= position) {
    rmSync(segmentFile(folder, starts[deleted]!));
    deleted++;
  }
  return starts.slice(deleted);
}

/** To be read, also when it is deleted meanwhile. Undefined when it was counted and deleted since it was listed. */
export async function openSegment(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
