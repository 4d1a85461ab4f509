/**
 * An edge's journal as it is sent: bytes of its segments, cut at a frame's end. A cut inside a frame would cost that
 * frame: a reader that stops there finds it torn.
 */
import { closeSync, fdatasync, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { findFrameHeader, listSegments, segmentFile } from '../../engine/journal/segments.ts';
import {
  frameBytesMax,
  frameHeaderBytes,
  framePayloadBytes,
  isFrameHeader,
} from '../../engine/journal/record.ts';
import type { JournalPiece, JournalSource } from './scan-uplink.ts';

export class JournalFiles implements JournalSource {
  readonly tail: () => number;
  readonly #folder: string;
  readonly #sync: (descriptor: number) => Promise<void>;
  readonly #buffer = Buffer.allocUnsafeSlow(frameBytesMax);

  /** @param tail how far the journal is written, also by other threads */
  constructor(folder: string, tail: () => number, sync = promisify(fdatasync)) {
    this.#folder = folder;
    this.#sync = sync;
    this.tail = tail;
  }

  async read(position: number, bytesMax: number): Promise<JournalPiece | undefined> {
    const tail = this.tail();
    let from = position;
    // Segments end, and a journal that has lost its newest one continues after a hole.
    for (const [start, end] of this.#segmentsFrom(position)) {
      from = Math.max(from, start);
      const left = Math.min(tail, end) - from;
      if (left <= 0) continue;
      const bytes = await this.#readSegment(start, from - start, left, bytesMax);
      if (bytes.length > 0) return { from, bytes };
    }
    return undefined;
  }

  /** @param left bytes up to the tail, or to the next segment: bytes after them are not the journal's */
  async #readSegment(
    start: number,
    offset: number,
    left: number,
    bytesMax: number,
  ): Promise<Uint8Array> {
    // Opened for each piece: a segment that is deleted while it is open does not leave the disk.
    const descriptor = openSync(segmentFile(this.#folder, start), 'r');
    try {
      const wanted = Math.min(left, Math.max(bytesMax, frameHeaderBytes));
      const got = this.#fill(descriptor, offset, wanted);
      const whole = got < left ? this.#wholeFrames(descriptor, offset, got, left) : got;
      const bytes = Buffer.from(this.#buffer.subarray(0, whole));
      // The writer's file, by another descriptor: all that was written into it reaches the disk.
      if (whole > 0) await this.#sync(descriptor);
      return bytes;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Those that may have something at or behind `position`: each with where the next one begins. */
  #segmentsFrom(position: number): Array<readonly [start: number, end: number]> {
    const starts = listSegments(this.#folder);
    return starts
      .map((start, at) => [start, starts[at + 1] ?? Number.MAX_SAFE_INTEGER] as const)
      .filter(([, end]) => end > position);
  }

  /** @returns bytes that the file has there, at most `wanted` */
  #fill(descriptor: number, offset: number, wanted: number): number {
    let got = 0;
    while (got < wanted) {
      const more = readSync(descriptor, this.#buffer, got, wanted - got, offset + got);
      if (more === 0) break;
      got += more;
    }
    return got;
  }

  /** Of `got` bytes in the buffer; the first frame is read to its end. @returns bytes of whole frames */
  #wholeFrames(descriptor: number, offset: number, got: number, left: number): number {
    const bytes = this.#buffer.subarray(0, got);
    let at = 0;
    while (at + frameHeaderBytes <= got) {
      // Damaged: goes along as it is, to be found and counted where it is read.
      const next = isFrameHeader(bytes, at)
        ? at + frameHeaderBytes + framePayloadBytes(bytes, at)
        : endOfDamage(bytes, at);
      if (next > got) break;
      at = next;
    }
    if (at > 0 || got < frameHeaderBytes) return at || got;
    const frameBytes = frameHeaderBytes + framePayloadBytes(bytes, 0);
    return this.#fill(descriptor, offset, Math.min(left, frameBytes));
  }
}

/** A header may straddle the end of what was read: its possible first bytes are left for the next piece. */
function endOfDamage(bytes: Buffer, at: number): number {
  const found = findFrameHeader(bytes, at + 1);
  return found < bytes.length ? found : bytes.length - frameHeaderBytes + 1;
}
