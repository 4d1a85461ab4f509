/**
 * The journal reader, live and at recovery. A read returns only sound frames. It skips a frame with a bad payload and counts
 * its scans as damaged; after a damaged header it finds the next sound one and counts the bytes between.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import {
  frameBytesMax,
  frameHeaderBytes,
  framePayloadBytes,
  frameScans,
  isFrameHeader,
  isFramePayloadSound,
} from './record.ts';
import { assertInPlace, type FileIdentity } from './file-identity.ts';
import { findFrameHeader, listSegments, segmentFile } from './segments.ts';

/** Called per sound frame: pass `bytes` and `frameAt` to a RecordCursor; `base + offset` is a position. */
export type FrameVisitor = (bytes: Buffer, frameAt: number, base: number) => void;

/** A buffer for at least one largest frame. */
export const readSpace = (bytesMax: number): Buffer =>
  Buffer.allocUnsafeSlow(Math.max(bytesMax, frameBytesMax));

export class JournalReader {
  readonly #folder: string;
  readonly #root: FileIdentity | undefined;
  readonly #buffer: Buffer;
  #segments: number[] = [];
  #descriptor = -1;
  #openStart = -1;
  /** Scans in frames whose payload fails its checksum. */
  damagedScans = 0;
  /** Bytes outside sound frames, and missing bytes. */
  damagedBytes = 0;

  /**
   * @param space bytes of one read, or a buffer of `readSpace` for readers that read in turn
   * @param root the folder of all journals: in another folder at its path, bytes would look damaged
   */
  constructor(folder: string, space: number | Buffer, root?: FileIdentity) {
    this.#folder = folder;
    this.#root = root;
    this.#buffer = typeof space === 'number' ? readSpace(space) : space;
  }

  /**
   * Visits the sound frames of [from, tail), as many as one read takes.
   * @returns the position of the next read; `from` when there is nothing to read yet
   * @throws DisplacedError or Error of the system when the journal is not in place; nothing was visited then
   */
  read(from: number, tail: number, visit: FrameVisitor): number {
    if (from >= tail) {
      // A deleted segment leaves the disk when its last reader closes it.
      if (this.#descriptor !== -1) this.close();
      return from;
    }
    const segment = this.#locate(from);
    if (segment === undefined) return from;
    if (segment.start > from) return segment.start;
    const end = Math.min(tail, segment.end);
    const wanted = Math.min(end - from, this.#buffer.length);
    const got = this.#fill(from - segment.start, wanted);
    if (got === 0) {
      this.damagedBytes += end - from;
      return end;
    }
    const isEnd = got < wanted || from + got === end;
    return from + this.#visitFrames(this.#buffer.subarray(0, got), from, visit, isEnd);
  }

  /** Reads into the buffer. Fewer bytes than wanted mean the file's end: a power loss took the rest. */
  #fill(offset: number, wanted: number): number {
    let got = 0;
    while (got < wanted) {
      const more = readSync(this.#descriptor, this.#buffer, got, wanted - got, offset + got);
      if (more === 0) break;
      got += more;
    }
    return got;
  }

  close(): void {
    if (this.#descriptor !== -1) closeSync(this.#descriptor);
    this.#descriptor = -1;
    this.#openStart = -1;
  }

  /** @returns bytes done; an unfinished frame at the end waits for the next read */
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

  /** Opens the segment with `position`, or the next one after it. */
  #locate(position: number): { start: number; end: number } | undefined {
    let found = this.#find(position);
    // The newest known segment may have ended since.
    if (found === undefined || found === this.#segments.length - 1) {
      if (this.#root !== undefined) assertInPlace(this.#root);
      this.#segments = listSegments(this.#folder);
      found = this.#find(position);
    }
    if (found === undefined) return undefined;
    const start = this.#segments[found]!;
    const end = this.#segments[found + 1] ?? Number.MAX_SAFE_INTEGER;
    if (this.#openStart !== start) {
      this.close();
      if (this.#root !== undefined) assertInPlace(this.#root);
      this.#descriptor = openSync(segmentFile(this.#folder, start), 'r');
      this.#openStart = start;
    }
    return { start, end };
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
