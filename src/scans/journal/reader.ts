/**
 * The journal reader: a shard's side of the mailbox. Live reading and recovery are this same code.
 *
 * A read returns sound frames only. A frame with a good header and a bad payload is skipped by its
 * length and its scans are counted as damaged; where the header itself is damaged the reader looks for
 * the next sound header and counts the bytes between. Neither ever becomes a wrong number.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import {
  frameBytesMax,
  frameHeaderBytes,
  framePayloadBytes,
  frameScans,
  isFrameHeader,
  isFramePayloadSound,
} from '../record.ts';
import { findFrameHeader, listSegments, segmentFile } from './segments.ts';

/** Called per sound frame: `bytes` and `frameAt` feed a RecordCursor, `base + offset` is a position. */
export type FrameVisitor = (bytes: Buffer, frameAt: number, base: number) => void;

export class JournalReader {
  readonly #folder: string;
  #buffer: Buffer;
  #segments: number[] = [];
  #descriptor = -1;
  #openStart = -1;
  /** Scans in frames whose payload did not match its checksum. */
  damagedScans = 0;
  /** Bytes that belong to no sound frame. */
  damagedBytes = 0;

  /** @param bytesMax what one read takes at most; at least one largest frame */
  constructor(folder: string, bytesMax: number) {
    this.#folder = folder;
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(bytesMax, frameBytesMax));
  }

  /**
   * Visits the sound frames of [from, tail), as many as one read holds.
   * @returns the position to go on from; `from` itself when there is nothing to read yet
   */
  read(from: number, tail: number, visit: FrameVisitor): number {
    if (from >= tail) return from;
    const segment = this.#locate(from);
    if (segment === undefined) return from;
    if (segment.start > from) return segment.start;
    const end = Math.min(tail, segment.end);
    const wanted = Math.min(end - from, this.#buffer.length);
    const got = readSync(this.#descriptor, this.#buffer, 0, wanted, from - segment.start);
    if (got === 0) return segment.end < tail ? segment.end : from;
    return from + this.#visitFrames(this.#buffer.subarray(0, got), from, visit, from + got >= end);
  }

  close(): void {
    if (this.#descriptor !== -1) closeSync(this.#descriptor);
    this.#descriptor = -1;
    this.#openStart = -1;
  }

  /** Returns how many bytes were dealt with; an unfinished frame at the end waits for the next read. */
  #visitFrames(bytes: Buffer, base: number, visit: FrameVisitor, isEnd: boolean): number {
    let at = 0;
    while (bytes.length - at >= frameHeaderBytes) {
      if (!isFrameHeader(bytes, at)) {
        const next = findFrameHeader(bytes, at + 1);
        // A header may straddle the end of this read: keep its possible first bytes for the next.
        const skipTo = next < bytes.length || isEnd ? next : bytes.length - frameHeaderBytes + 1;
        this.damagedBytes += skipTo - at;
        at = skipTo;
        continue;
      }
      const next = at + frameHeaderBytes + framePayloadBytes(bytes, at);
      if (next > bytes.length) break;
      if (isFramePayloadSound(bytes, at)) visit(bytes, at, base);
      else this.damagedScans += frameScans(bytes, at);
      at = next;
    }
    if (isEnd && at < bytes.length) {
      this.damagedBytes += bytes.length - at;
      return bytes.length;
    }
    return at;
  }

  /** The segment that holds `position`, or the next one above it, opened. */
  #locate(position: number): { start: number; end: number } | undefined {
    const found = this.#find(position) ?? (this.#refresh(), this.#find(position));
    if (found === undefined) return undefined;
    const start = this.#segments[found]!;
    let end = this.#segments[found + 1];
    if (end === undefined) {
      this.#refresh();
      end = this.#segments[this.#segments.indexOf(start) + 1] ?? Number.MAX_SAFE_INTEGER;
    }
    if (this.#openStart !== start) {
      this.close();
      this.#descriptor = openSync(segmentFile(this.#folder, start), 'r');
      this.#openStart = start;
    }
    return { start, end };
  }

  #refresh(): void {
    this.#segments = listSegments(this.#folder);
  }

  /** Index of the last segment starting at or below `position`, else of the first above it. */
  #find(position: number): number | undefined {
    const segments = this.#segments;
    for (let i = segments.length - 1; i >= 0; i--) {
      if (segments[i]! <= position) return i;
    }
    return segments.length > 0 ? 0 : undefined;
  }
}
