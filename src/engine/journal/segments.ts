/**
 * The journal on disk: `<folder>/<journal>/<start>.log`, one folder per redirect thread.
 *
 * A position is a byte offset in the journal's whole life; ids and watermarks name scans by it. A segment's name is the
 * position of its first byte. The newest segment is never deleted: it keeps the position. Each journal gets an empty newest
 * segment after a minute of writing, at a stop and at a start, so that no address stays on the disk after it is counted.
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
} from './record.ts';
import { journalsMax } from './positions.ts';

const nameDigits = 16;

export const journalFolder = (root: string, journal: number): string => join(root, String(journal));
export const segmentFile = (folder: string, start: number): string =>
  join(folder, `${String(start).padStart(nameDigits, '0')}.log`);

/** Numbers of the journals that exist, ascending. @throws Error of the system */
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

/** The end of a journal without a writer; 0 without segments. */
export function journalEnd(folder: string): number {
  const newest = listSegments(folder).at(-1);
  return newest === undefined ? 0 : newest + statSync(segmentFile(folder, newest)).size;
}

export interface Recovered {
  /** Where the next frame goes. */
  readonly position: number;
  /** Bytes of an unfinished write at the end. */
  readonly tornBytes: number;
  /** The journal's end: below `position` when it has lost scans that the store has. */
  readonly end: number;
}

export interface RecoverOptions {
  /** Bytes after the last sound frame. `kept` in a cluster, where other machines may have had others. Default `cut`. */
  readonly torn?: 'cut' | 'kept';
  /** Cuts everything after it first: other machines send it again. Never below `atLeast`. */
  readonly atMost?: number;
}

/**
 * Prepares a journal for its writer: cuts a torn tail off the newest segment. A damaged frame in the middle stays.
 * @param folder created when missing, but not its parent, which may be out of place
 * @param atLeast the highest watermark: after a power loss the store may be ahead of the journal
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
 * Creates an empty segment at the end of a journal: counted records can be deleted, and the position is kept.
 * @param position from `recoverJournal` @throws Error of the system
 */
export function beginSegment(folder: string, position: number): void {
  const newest = listSegments(folder).at(-1);
  if ((newest ?? 0) === position) return;
  closeSync(openSync(segmentFile(folder, position), 'a', 0o600));
}

/** Length of a segment up to its last sound frame; 0 without one, or without the file. */
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

/** Offset of the next sound frame header from `from` on; else `bytes.length`. */
export function findFrameHeader(bytes: Buffer, from: number): number {
  let at = bytes.indexOf('QZJ1', from, 'latin1');
  while (at !== -1) {
    if (isFrameHeader(bytes, at)) return at;
    at = bytes.indexOf('QZJ1', at + 1, 'latin1');
  }
  return bytes.length;
}

/** Time of the oldest scan still in a file, by its cycle's clock; undefined = none. */
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

/** Undefined when the segment was deleted after it was listed. */
function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Deletes segments that end at or below `position`. @returns starts of the rest */
export function pruneJournal(folder: string, position: number): readonly number[] {
  const starts = listSegments(folder);
  let deleted = 0;
  while (deleted + 1 < starts.length && starts[deleted + 1]! <= position) {
    rmSync(segmentFile(folder, starts[deleted]!));
    deleted++;
  }
  return starts.slice(deleted);
}

/** Stays readable when it is deleted. Undefined when it was deleted after it was listed. */
export async function openSegment(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
