/** Where a table is made: in a file that has its name once it is whole, or in memory. */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TableOutput } from './table-maker.ts';

const bufferBytes = 1 << 20;
/** Ends the name of a file that is not whole. */
export const draftEnding = '.new';

export class FileOutput implements TableOutput {
  readonly #path: string;
  readonly #draft: string;
  readonly #buffer = new Uint8Array(bufferBytes);
  #buffered = 0;
  #written = 0;
  #descriptor: number | undefined;
  /** Set where an error was that of the disk. */
  hasFailed = false;

  readonly #mode: number;

  /** @param mode of the file */
  constructor(path: string, mode: number) {
    this.#path = path;
    this.#mode = mode;
    this.#draft = `${path}.${randomBytes(6).toString('hex')}${draftEnding}`;
  }

  append(bytes: Uint8Array): void {
    if (this.#buffered + bytes.length > bufferBytes) this.#flush();
    if (bytes.length > bufferBytes) {
      this.#write(bytes, this.#written);
      this.#written += bytes.length;
      return;
    }
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.length;
  }

  restart(bytes: Uint8Array): void {
    this.#flush();
    this.#write(bytes, 0);
  }

  /** @returns the file's path. @throws Error of the system */
  end(): string {
    try {
      fsyncSync(this.#open());
      renameSync(this.#draft, this.#path);
      this.#close();
      return this.#path;
    } catch (error) {
      this.hasFailed = true;
      throw error;
    }
  }

  /** Leaves nothing of a file that has not ended. */
  discard(): void {
    if (this.#descriptor === undefined) return;
    this.#close();
    rmSync(this.#draft, { force: true });
  }

  #flush(): void {
    this.#write(this.#buffer.subarray(0, this.#buffered), this.#written);
    this.#written += this.#buffered;
    this.#buffered = 0;
  }

  #write(bytes: Uint8Array, position: number): void {
    try {
      const descriptor = this.#open();
      for (let at = 0; at < bytes.length;) {
        at += writeSync(descriptor, bytes, at, bytes.length - at, position + at);
      }
    } catch (error) {
      this.hasFailed = true;
      throw error;
    }
  }

  #open(): number {
    if (this.#descriptor === undefined) {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      this.#descriptor = openSync(this.#draft, 'wx', this.#mode);
    }
    return this.#descriptor;
  }

  #close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

export class MemoryOutput implements TableOutput {
  #parts: Uint8Array[] = [];
  #bytes = 0;

  append(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
  }

  restart(bytes: Uint8Array): void {
    this.#parts[0] = bytes;
  }

  end(): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(this.#bytes);
    const all = new Uint8Array(memory);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return memory;
  }

  discard(): void {
    this.#parts = [];
  }
}
