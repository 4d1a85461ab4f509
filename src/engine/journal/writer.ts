/**
 * The journal writer: one per redirect thread. `append` is one `pwrite` per event-loop cycle, before the cycle's answers
 * leave: an answered scan is a journaled scan.
 *
 * It never throws. When the disk refuses, frames wait in memory and are written in order once it accepts; beyond
 * `backlogBytesMax` they are dropped and counted, because a redirect must not depend on a disk. Writes name their offset, so a
 * half-written frame is overwritten. While the folder is not in place, the writer continues in the open file. A segment ends
 * by size, and by age: it has addresses in clear, and is deleted as a whole once it is counted.
 */
import { closeSync, fdatasync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { freeBytes } from '../../store/space-guard.ts';
import { segmentFile } from './segments.ts';
import { assertInPlace, type FileIdentity } from './file-identity.ts';
import type { JournalPositions } from './positions.ts';

/** The file calls of a journal; tests pass a disk that fills up. */
export interface JournalDisk {
  open(file: string): number;
  /** @returns the bytes written; throws like `fs.writeSync` */
  write(descriptor: number, bytes: Uint8Array, offset: number): number;
  sync(descriptor: number, done: (error: Error | null) => void): void;
  close(descriptor: number): void;
}

export const systemDisk: JournalDisk = {
  open: (file) => openSync(file, 'w', 0o600),
  write: (descriptor, bytes, offset) => writeSync(descriptor, bytes, 0, bytes.length, offset),
  sync: (descriptor, done) => fdatasync(descriptor, done),
  close: (descriptor) => closeSync(descriptor),
};

/** @param root the folder of all journals: no segment begins while another folder has its path */
export const diskAt = (root: FileIdentity): JournalDisk => ({
  ...systemDisk,
  open(file) {
    assertInPlace(root);
    return systemDisk.open(file);
  },
});

/** A failed end of a segment is retried after so many bytes: it costs a redirect 10 µs. */
const rollRetryBytes = 1_048_576;
/** Bound of a segment that cannot end: recovery reads the newest one as a whole. */
const overdueBytesMax = 1_073_741_824;

/** A segment ends above this size. */
export const segmentBytesMax = 67_108_864;

export interface JournalWriterOptions {
  readonly folder: string;
  readonly journal: number;
  /** From `recoverJournal`. */
  readonly position: number;
  readonly segmentBytesMax: number;
  /** `rotate` ends a segment with records older than this. */
  readonly segmentMsMax: number;
  readonly backlogBytesMax: number;
  readonly tails: JournalPositions;
  readonly disk?: JournalDisk;
  /** Called by the first scan, and by the first after `idleMs` found nothing to sync. */
  readonly onWork?: () => void;
}

interface WaitingFrame {
  readonly bytes: Uint8Array;
  readonly scans: number;
}

interface SyncWaiter {
  readonly position: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class JournalWriter {
  readonly #options: JournalWriterOptions;
  readonly #disk: JournalDisk;
  #descriptor = -1;
  #segmentStart = 0;
  /** The open segment ends at this size. */
  #rollBytes: number;
  /** When `rotate` first saw a record in the open segment. */
  #recordsSinceMs: number | undefined;
  #position: number;
  #rolled: number[] = [];
  #waiting: WaitingFrame[] = [];
  #waitingBytes = 0;
  #syncedPosition: number;
  #syncing: Promise<void> | undefined;
  #waiters: SyncWaiter[] = [];
  #isIdle = true;
  /** Scans in memory while the disk refuses them. */
  waitingScans = 0;
  /** Scans lost: the disk refused them and the backlog was full. */
  droppedScans = 0;
  /** Why writing began to fail; undefined = it works. */
  fault: string | undefined;

  constructor(options: JournalWriterOptions) {
    this.#options = options;
    this.#disk = options.disk ?? systemDisk;
    this.#rollBytes = options.segmentBytesMax;
    this.#position = options.position;
    this.#syncedPosition = options.position;
    options.tails.publish(options.journal, options.position);
  }

  get position(): number {
    return this.#position;
  }

  /** Writes a finished frame, or copies it while the disk refuses. */
  append(frame: Uint8Array, scans: number): void {
    if (this.#isIdle) this.#endIdle();
    if (this.#waiting.length === 0 && this.#write(frame)) return;
    if (this.#waitingBytes + frame.length > this.#options.backlogBytesMax) {
      this.droppedScans += scans;
      return;
    }
    this.#waiting.push({ bytes: Uint8Array.prototype.slice.call(frame), scans });
    this.#waitingBytes += frame.length;
    this.waitingScans += scans;
  }

  /** Writes waiting frames, oldest first, until the disk refuses. Called by a timer. */
  retry(): void {
    let written = 0;
    for (const frame of this.#waiting) {
      if (!this.#write(frame.bytes)) break;
      written++;
      this.#waitingBytes -= frame.bytes.length;
      this.waitingScans -= frame.scans;
    }
    if (written > 0) this.#waiting = this.#waiting.slice(written);
  }

  /** Ends the open segment when its records are older than `segmentMsMax`. Called by a timer. */
  rotate(nowMs: number): void {
    if (this.#descriptor === -1 || this.#segmentBytes() === 0) return;
    this.#recordsSinceMs ??= nowMs;
    if (nowMs - this.#recordsSinceMs >= this.#options.segmentMsMax) this.endSegment();
  }

  /**
   * Call after `rotate` and `sync`: how long a timer has nothing to do, unless `onWork` is called before.
   * @returns 0 while anything waits for the disk, Infinity when no segment with records is open
   */
  idleMs(nowMs: number): number {
    const isOnDisk = this.#waiting.length === 0 && this.#syncedPosition >= this.#position;
    if (!isOnDisk || this.#syncing !== undefined || this.#rolled.length > 0) return 0;
    this.#isIdle = true;
    if (this.#segmentBytes() === 0 || this.#descriptor === -1) return Infinity;
    return Math.max(0, (this.#recordsSinceMs ?? nowMs) + this.#options.segmentMsMax - nowMs);
  }

  #endIdle(): void {
    this.#isIdle = false;
    this.#options.onWork?.();
  }

  /** Begins the next segment: the old one can be deleted once it is counted. */
  endSegment(): void {
    if (this.#descriptor === -1 || this.#segmentBytes() === 0) return;
    try {
      this.#roll();
    } catch {
      // The disk refuses a new file: the next call tries again.
    }
  }

  /**
   * Resolves once everything appended so far is on the disk; calls during a sync share the next. Rejects when the disk
   * refuses or frames wait, but syncs the written ones.
   */
  sync(): Promise<void> {
    if (this.#waiting.length > 0) {
      if (this.#syncing === undefined && this.#syncedPosition < this.#position) this.#syncNext();
      return Promise.reject(new Error(this.fault ?? 'journal is behind'));
    }
    if (this.#syncedPosition >= this.#position) {
      if (this.#syncing === undefined) this.#closeRolled();
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ position: this.#position, resolve, reject });
      if (this.#syncing === undefined) this.#syncNext();
    });
  }

  async close(): Promise<void> {
    this.retry();
    await this.sync().catch(() => undefined);
    await this.#syncing;
    this.#closeRolled();
    if (this.#descriptor !== -1) this.#disk.close(this.#descriptor);
    this.#descriptor = -1;
  }

  /** Closes ended, synced segments: deleting an open file frees nothing. */
  #closeRolled(): void {
    for (const descriptor of this.#rolled) this.#disk.close(descriptor);
    this.#rolled = [];
  }

  /** One sync covers everything written when it began; later callers wait for the next. */
  #syncNext(): void {
    const covered = this.#position;
    const rolled = this.#rolled;
    this.#rolled = [];
    this.#syncing = this.#syncCovering(covered, rolled);
  }

  async #syncCovering(covered: number, rolled: readonly number[]): Promise<void> {
    try {
      await this.#syncAll([...rolled, this.#descriptor]);
    } catch (error) {
      this.#rolled = [...rolled, ...this.#rolled];
      const failed = this.#waiters;
      this.#waiters = [];
      this.#syncing = undefined;
      for (const waiter of failed) waiter.reject(asError(error));
      return;
    }
    for (const descriptor of rolled) this.#disk.close(descriptor);
    this.#syncedPosition = covered;
    const done = this.#waiters.filter((waiter) => waiter.position <= covered);
    this.#waiters = this.#waiters.filter((waiter) => waiter.position > covered);
    this.#syncing = undefined;
    for (const waiter of done) waiter.resolve();
    if (this.#waiters.length > 0) this.#syncNext();
  }

  async #syncAll(descriptors: readonly number[]): Promise<void> {
    for (const descriptor of descriptors) {
      await new Promise<void>((resolve, reject) => {
        this.#disk.sync(descriptor, (error) => (error === null ? resolve() : reject(error)));
      });
    }
  }

  #write(frame: Uint8Array): boolean {
    try {
      if (this.#descriptor === -1) this.#roll();
      else if (this.#segmentBytes() >= this.#rollBytes) this.#rollOrGoOn();
      const written = this.#disk.write(this.#descriptor, frame, this.#segmentBytes());
      if (written !== frame.length) throw new Error(`wrote ${written} of ${frame.length} bytes`);
    } catch (error) {
      const file = segmentFile(this.#options.folder, this.#segmentStart);
      this.fault ??= refusedWriteText(file, asError(error).message);
      return false;
    }
    this.fault = undefined;
    this.#position += frame.length;
    this.#options.tails.publish(this.#options.journal, this.#position);
    return true;
  }

  #segmentBytes(): number {
    return this.#position - this.#segmentStart;
  }

  #rollOrGoOn(): void {
    try {
      this.#roll();
    } catch (error) {
      this.#rollBytes = this.#segmentBytes() + rollRetryBytes;
      if (this.#rollBytes > this.#options.segmentBytesMax + overdueBytesMax) throw error;
    }
  }

  #roll(): void {
    const descriptor = this.#disk.open(segmentFile(this.#options.folder, this.#position));
    if (this.#descriptor !== -1) this.#rolled.push(this.#descriptor);
    this.#descriptor = descriptor;
    this.#segmentStart = this.#position;
    this.#recordsSinceMs = undefined;
    this.#rollBytes = this.#options.segmentBytesMax;
  }
}

/** The reason, the free space of the file system, and the process's file size limit. */
export function refusedWriteText(file: string, reason: string): string {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const limit = /^Max file size +(\d+)/m.exec(limits)?.[1];
    const most = limit === undefined ? '' : `, a file may have ${limit} bytes (ulimit -f)`;
    const free = Math.floor(freeBytes(dirname(file)) / 1_048_576);
    return `${file}: ${reason}; ${free} MiB are free${most}`;
  } catch {
    return `${file}: ${reason}`;
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));
