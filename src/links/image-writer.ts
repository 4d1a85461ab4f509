/**
 * Writes the image of a link table beside the running service (image.ts has the format, recording.ts says why a copy that is
 * made piece by piece is exact).
 *
 *   piece: copy 1 MiB, CRC-32, write ─ yield ─ … ─ head, end, sync, rename
 *
 * A piece holds the control thread for 0.4 ms. Every 32 MiB are on the disk before the next are begun, so that journals,
 * which sync every 200 ms, do not wait for a gigabyte. A draft is removed when it is given up; one that a killed process
 * has left is written over by the next.
 */
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { encodeHead, endBytes, type ImageCodes, pieceBytes } from './image.ts';
import { controlWord, type LinkTableMemory, unitBytes } from './layout.ts';
import type { Recording } from './recording.ts';
import type { LinkWriter } from './writer.ts';

/** Pieces between two syncs. */
const syncEvery = 32;

export interface ImageTask {
  readonly path: string;
  readonly memory: LinkTableMemory;
  readonly writer: LinkWriter;
  readonly codes: ImageCodes;
  /** The caller's: of the last change that is in the table. */
  readonly number: number;
  readonly token: number;
  /** Asked before each piece. */
  readonly isStopped: () => boolean;
  /** Called before each piece; a test changes the table there. */
  readonly onPiece?: () => Promise<void> | void;
}

export const draftOf = (path: string): string => `${path}.new`;

/** About what an image of the table takes. */
export const imageBytes = (writer: LinkWriter): number => writer.bytesUsed + 16 * pieceBytes;

/**
 * Reads the table as it is when this is called.
 * @returns bytes; undefined when it was given up: slots are moving, changes need what the image does, or it was stopped
 * @throws Error of the system; there is no draft then
 */
export async function writeImage(task: ImageTask): Promise<number | undefined> {
  const recording = task.writer.record();
  if (recording === undefined) return undefined;
  const draft = draftOf(task.path);
  try {
    const file = await open(draft, 'w', 0o600);
    try {
      const bytes = await new ImageWriting(task, recording, file).write();
      if (bytes === undefined) return undefined;
      await file.sync();
      await rename(draft, task.path);
      await syncFolder(dirname(task.path));
      return bytes;
    } finally {
      await file.close();
    }
  } finally {
    task.writer.stopRecording();
    await rm(draft, { force: true });
  }
}

class ImageWriting {
  readonly #task: ImageTask;
  readonly #recording: Recording;
  readonly #file: FileHandle;
  /** The memory changes while a piece of it is written. */
  readonly #piece = Buffer.alloc(pieceBytes);
  readonly #sections: number[] = [];
  readonly #checksums: number[] = [];
  #bytes = 0;

  constructor(task: ImageTask, recording: Recording, file: FileHandle) {
    this.#task = task;
    this.#recording = recording;
    this.#file = file;
  }

  async write(): Promise<number | undefined> {
    const { memory, codes } = this.#task;
    const { slots, state, slotNotes, shapeNotes } = this.#recording;
    const isRead =
      (await this.#section(slots.buffer, slots.byteOffset, slots.byteLength)) &&
      (await this.#section(memory.arena, 0, state.tailUnits * unitBytes));
    // Nothing that comes now is in the pieces.
    this.#task.writer.stopRecording();
    if (!isRead) return undefined;
    const notes = [Int32Array.from(slotNotes), Int32Array.from(shapeNotes)];
    const ofCodes = [codes.limited, codes.damaged];
    const words = [state.heads, state.waiting, state.zones, ...notes, ...ofCodes];
    for (const { buffer, byteOffset, byteLength } of words) {
      if (!(await this.#section(buffer, byteOffset, byteLength))) return undefined;
    }
    await this.#end();
    return this.#bytes;
  }

  /** Whether it was written. */
  async #section(buffer: ArrayBufferLike, offset: number, bytes: number): Promise<boolean> {
    const isOfMemory = this.#sections.length < 2;
    for (let done = 0; done < bytes; done += pieceBytes) {
      await this.#task.onPiece?.();
      if (this.#task.isStopped() || (isOfMemory && !this.#recording.isWhole)) return false;
      const length = Math.min(pieceBytes, bytes - done);
      const piece = this.#piece.subarray(0, length);
      piece.set(new Uint8Array(buffer, offset + done, length));
      await this.#write(piece);
      this.#checksums.push(crc32(piece));
      if (this.#checksums.length % syncEvery === 0) await this.#file.datasync();
      await yieldToEventLoop();
    }
    this.#sections.push(bytes);
    return !isOfMemory || this.#recording.isWhole;
  }

  async #end(): Promise<void> {
    const control = new Int32Array(this.#task.memory.control);
    const { number, token } = this.#task;
    const head = encodeHead({
      ...this.#recording.state,
      hashSeedLow: control[controlWord.hashSeedLow]!,
      hashSeedHigh: control[controlWord.hashSeedHigh]!,
      number,
      token,
      sections: this.#sections,
      checksums: this.#checksums,
    });
    const end = Buffer.alloc(endBytes);
    end.writeUInt32LE(head.length, 0);
    end.writeUInt32LE(crc32(head), 4);
    await this.#write(Buffer.concat([head, end]));
  }

  async #write(bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, done);
      done += bytesWritten;
    }
    this.#bytes += bytes.length;
  }
}

/** The name survives a loss of power then, where the file system has such a sync. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch {
    // The token tells an old file from a new one.
  } finally {
    await folder.close();
  }
}
