/**
 * Asks before every transaction whether the disk accepts writes. lmdb-js does not survive a commit that fails for lack of
 * space: about one in thirty corrupts its heap (`malloc(): invalid next size`, the process aborts).
 *
 *   open ── a write probe fails, the reserve is used up, or a commit was refused ──> full
 *   full ── a write probe succeeds ──> open
 *
 * Bound: one probe (4 KB into a nameless file, 19 µs, truncated before it reaches the disk) per event loop cycle.
 */
import { closeSync, ftruncateSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { Failure, messageOf } from '../model/failure.ts';

/** Enough for the pages of a few large windows; the journals use the rest. */
const reserveBytes = 1_048_576;
const probeBytes = new Uint8Array(4_096);
/** After LMDB's two meta pages: LMDB overwrites those in place, and a probe must fail when the file cannot grow. */
const probeAt = 8_192;

export class SpaceGuard {
  readonly #takesWrites: () => boolean;
  #isFull = false;
  #isFresh = false;

  constructor(takesWrites: () => boolean) {
    this.#takesWrites = takesWrites;
  }

  get isFull(): boolean {
    if (this.#isFresh) return this.#isFull;
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
    this.#isFull = !this.#takesWrites();
    return this.#isFull;
  }

  /** @throws Failure storage_full */
  check(): void {
    if (this.isFull) throw fullDisk();
  }

  /** After a refused commit: LMDB gets no more transactions in this cycle. */
  trip(): void {
    this.#isFull = true;
  }
}

/** Probes by writing next to a data file: free space alone does not show quotas and limits. */
export class WriteProbe {
  readonly #path: string;
  #file: number | undefined;

  constructor(dataPath: string) {
    this.#path = `${dataPath}.trial`;
  }

  takesWrites(): boolean {
    try {
      return this.#hasReserve() && this.#write();
    } catch {
      return false;
    }
  }

  /** A missing data folder hides the free space; its files are open, and a write shows whether they grow. */
  #hasReserve(): boolean {
    try {
      return freeBytes(dirname(this.#path)) >= reserveBytes;
    } catch (error) {
      if (this.#file === undefined) throw error;
      return true;
    }
  }

  #write(): boolean {
    if (this.#file === undefined) {
      this.#file = openSync(this.#path, 'w');
      rmSync(this.#path, { force: true });
    }
    const written = writeSync(this.#file, probeBytes, 0, probeBytes.length, probeAt);
    ftruncateSync(this.#file, 0);
    return written === probeBytes.length;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

export const fullDisk = (): Failure =>
  new Failure('storage_full', 'The data folder is full or not writable; nothing was changed');

/** Bytes that this user may still write in a folder's file system. @throws Error of the system */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Messages of refused writes, and LMDB's errors in a transaction after one of these. */
const refusedWrite =
  /no space|ENOSPC|file too large|quota exceeded|Input\/output|MAP_FULL|BAD_TXN|PANIC|Commit failed/i;

export function isRefusedWrite(error: unknown): boolean {
  if (error instanceof Failure) return false;
  const commitError: unknown =
    error instanceof Error && 'commitError' in error ? error.commitError : undefined;
  silence(commitError);
  const text = messageOf(error);
  return commitError !== undefined || refusedWrite.test(text);
}

/** lmdb-js also rejects this promise; without a handler it would be an unhandled rejection. */
function silence(commitError: unknown): void {
  if (commitError instanceof Promise) void commitError.catch(() => undefined);
}
