/**
 * Drawn images on the disk, for the next start and for what memory has no room for.
 *
 *   <folder>/ab/cdef…   64 hexadecimal digits of the image's key, the first two as a folder
 *   file:               | SHA-256 of the image, 32 bytes | image |
 *
 * A cache and no more: whatever goes wrong with it costs a drawing, never an answer. What is read is
 * checked, so a damaged file is one that is not there; a file gets its name when it is whole; after a
 * failed write (a full disk) nothing is written for half a minute. The least recently used go when the
 * bound is passed: in order of use while the service runs, of the file's time across starts.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../model/clock.ts';

const hashBytes = 32;
/** What a small file takes on a disk; also bounds the number of files. */
const blockBytes = 4_096;
/** A sweep goes on to here, so that it does not come again with every image. */
const sweptShare = 0.9;
/** An image above this share of the bound would push out too many others. */
const imageShareMax = 0.1;
const pauseMs = 30_000;
const folderPattern = /^[0-9a-f]{2}$/;
const filePattern = /^[0-9a-f]{62}$/;

export interface DiskCacheStats {
  readonly bytes: number;
  readonly count: number;
  readonly hits: number;
  /** Files that were damaged, or could not be read or written. */
  readonly faults: number;
}

export class DiskCache {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #clock: Clock;
  /** Oldest use first. */
  readonly #entries = new Map<string, number>();
  #bytes = 0;
  #hits = 0;
  #faults = 0;
  #pausedUntilMs = -Infinity;
  #sweeping: Promise<void> | undefined;
  readonly #known: Promise<void>;

  /** Finds out in the background what is there. @param bytesMax 0 = keeps nothing and reads nothing */
  constructor(folder: string, bytesMax: number, clock: Clock) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#clock = clock;
    this.#known = bytesMax === 0 ? Promise.resolve() : this.#look();
  }

  stats(): DiskCacheStats {
    return {
      bytes: this.#bytes,
      count: this.#entries.size,
      hits: this.#hits,
      faults: this.#faults,
    };
  }

  /** The image kept under `key`; undefined when there is none, or none that is whole. Never rejects. */
  async find(key: string): Promise<Uint8Array | undefined> {
    if (this.#bytesMax === 0) return undefined;
    const name = nameOf(key);
    const file = await readFile(this.#file(name)).catch((error: unknown) => {
      if (!isAbsent(error)) this.#faults += 1;
      return undefined;
    });
    if (file === undefined) return undefined;
    const image = Uint8Array.from(file.subarray(hashBytes));
    const isWhole = file.length > hashBytes && file.subarray(0, hashBytes).equals(hashOf(image));
    if (!isWhole) {
      this.#faults += 1;
      await this.#drop(name);
      return undefined;
    }
    this.#hits += 1;
    this.#use(name, file.length);
    const now = this.#clock.now() / 1_000;
    await utimes(this.#file(name), now, now).catch(() => undefined);
    return image;
  }

  /** Keeps an image if it can. Never rejects. */
  async put(key: string, image: Uint8Array): Promise<void> {
    if (image.length > this.#bytesMax * imageShareMax) return;
    if (this.#clock.monotonicMs() < this.#pausedUntilMs) return;
    const name = nameOf(key);
    const draft = join(this.#folder, `${randomUUID()}.new`);
    try {
      await mkdir(join(this.#folder, name.slice(0, 2)), { recursive: true, mode: 0o700 });
      await writeFile(draft, Buffer.concat([hashOf(image), image]), { mode: 0o600 });
      await rename(draft, this.#file(name));
      this.#use(name, hashBytes + image.length);
      this.#sweep();
    } catch {
      this.#faults += 1;
      this.#pausedUntilMs = this.#clock.monotonicMs() + pauseMs;
      await rm(draft, { force: true }).catch(() => undefined);
    }
  }

  /** Resolves when what was there at the start is known and no sweep is under way. */
  async settled(): Promise<void> {
    await this.#known;
    await this.#sweeping;
  }

  #use(name: string, fileBytes: number): void {
    this.#forget(name);
    const bytes = Math.ceil(fileBytes / blockBytes) * blockBytes;
    this.#entries.set(name, bytes);
    this.#bytes += bytes;
  }

  #forget(name: string): void {
    this.#bytes -= this.#entries.get(name) ?? 0;
    this.#entries.delete(name);
  }

  async #drop(name: string): Promise<void> {
    this.#forget(name);
    await rm(this.#file(name), { force: true }).catch(() => undefined);
  }

  #sweep(): void {
    if (this.#bytes <= this.#bytesMax || this.#sweeping !== undefined) return;
    const sweep = async (): Promise<void> => {
      // Before it is known what is there, the young would go in place of the old.
      await this.#known;
      for (const name of this.#entries.keys()) {
        if (this.#bytes <= this.#bytesMax * sweptShare) break;
        await this.#drop(name);
      }
    };
    this.#sweeping = sweep().finally(() => (this.#sweeping = undefined));
  }

  /** Reads names, sizes and times; removes what a death left half written. */
  async #look(): Promise<void> {
    const found: Array<{ name: string; bytes: number; usedMs: number }> = [];
    for (const entry of await readdir(this.#folder).catch(() => [])) {
      if (entry.endsWith('.new'))
        await rm(join(this.#folder, entry), { force: true }).catch(ignore);
      if (!folderPattern.test(entry)) continue;
      for (const rest of await readdir(join(this.#folder, entry)).catch(() => [])) {
        const file = await stat(join(this.#folder, entry, rest)).catch(() => undefined);
        if (file === undefined || !filePattern.test(rest)) continue;
        found.push({ name: entry + rest, bytes: file.size, usedMs: file.mtimeMs });
      }
    }
    const young = [...this.#entries];
    this.#entries.clear();
    this.#bytes = 0;
    for (const { name, bytes } of found.toSorted((one, other) => one.usedMs - other.usedMs)) {
      this.#use(name, bytes);
    }
    for (const [name, bytes] of young) this.#use(name, bytes);
    this.#sweep();
  }

  #file(name: string): string {
    return join(this.#folder, name.slice(0, 2), name.slice(2));
  }
}

function ignore(): void {}

function nameOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function hashOf(image: Uint8Array): Buffer {
  return createHash('sha256').update(image).digest();
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
