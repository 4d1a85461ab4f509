/**
 * Whether the disk under an environment takes writes: asked before every transaction, so that LMDB itself
 * hardly ever meets a full disk.
 *
 *   open ── a write probe fails, the reserve is used up, or a commit was refused ──> full
 *   full ── a write probe succeeds ──> open
 *
 * The reason: lmdb-js does not survive a commit that fails for want of space. One in some thirty of them
 * breaks its heap (`malloc(): invalid next size`, the process aborts) or fails the next transaction too.
 *
 * Bounds: a probe (4 KB into a file without a name, 19 µs, cut off before it reaches the disk) is made
 * at most once in a cycle of the event loop. A disk that fills between a probe and its commit is met by
 * LMDB, once.
 */
import { closeSync, ftruncateSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { Failure, messageOf } from '../model/failure.ts';

/** Enough for the pages of a few large windows; what is left of it serves the journals. */
const reserveBytes = 1_048_576;
const probeBytes = new Uint8Array(4_096);
/** Behind LMDB's two meta pages: it writes over those in place, and what keeps its file from growing must fail a probe. */
const probeAt = 8_192;

export class SpaceGuard {
  readonly #takesWrites: () => boolean;
  #isFull = false;
  /** Probed in this cycle of the event loop. */
  #isFresh = false;

  constructor(takesWrites: () => boolean) {
    this.#takesWrites = takesWrites;
  }

  /** Probes at most once in a cycle. */
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

  /** A commit was refused: nothing more goes to LMDB in this cycle. */
  trip(): void {
    this.#isFull = true;
  }
}

/** Writes beside a data file, as a probe. Free space alone says nothing of quotas and limits. */
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

  /** Unknown where the data folder is not in place: its files are open, and a write shows what they take. */
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
  new Failure('storage_full', 'The data folder has no space left; nothing was changed');

/** What this user may still write in a folder's file system. @throws Error of the system */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/**
 * Texts of a write that the system or LMDB refuses: no space (ENOSPC), over a limit or quota (EFBIG, EDQUOT),
 * a bad disk (EIO), the map's bound, and what LMDB says of a transaction in which one of these came before.
 */
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

/** The rejection that lmdb-js fires beside the one we answer: it must not become an unhandled one. */
function silence(commitError: unknown): void {
  if (commitError instanceof Promise) void commitError.catch(() => undefined);
}
