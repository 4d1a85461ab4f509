/**
 * Drawn images on disk, for the next start and for images that do not fit into memory.
 *
 *   <folder>/ab/cdef…   64 hexadecimal digits of the image's key, the first two as a folder
 *   file:               | SHA-256 of the image, 32 bytes | image |
 *
 * A failure of this cache costs a drawing, never an answer. Files are checked when they are read, and a
 * damaged one counts as missing. A file is renamed into place once it is complete. After a failed write (a
 * full disk) nothing is written for half a minute. Above the bound, the least recently used files are pruned:
 * in order of use while the service runs, by modification time across starts.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorCode } from '../model/failure.ts';
import type { Clock } from '../model/clock.ts';

const hashBytes = 32;
/** Disk space of the smallest file; also bounds the number of files. */
const blockBytes = 4_096;
/** Pruning goes down to this share, so that it does not run with every image. */
const prunedShare = 0.9;
/** An image above this share of the bound would evict too many others. */
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
  #pruning: Promise<void> | undefined;
  readonly #loaded: Promise<void>;

  /** Reads the folder in the background. @param bytesMax 0 = off */
  constructor(folder: string, bytesMax: number, clock: Clock) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#clock = clock;
    this.#loaded = bytesMax === 0 ? Promise.resolve() : this.#load();
  }

  stats(): DiskCacheStats {
    return {
      bytes: this.#bytes,
      count: this.#entries.size,
      hits: this.#hits,
      faults: this.#faults,
    };
  }

  /** The image stored under `key`; undefined when it is missing or damaged. Never rejects. */
  async find(key: string): Promise<Uint8Array | undefined> {
    if (this.#bytesMax === 0) return undefined;
    const name = nameOf(key);
    const file = await readFile(this.#file(name)).catch((error: unknown) => {
      if (systemErrorCode(error) !== 'ENOENT') this.#faults += 1;
      return undefined;
    });
    if (file === undefined) return undefined;
    const image = Uint8Array.from(file.subarray(hashBytes));
    const isWhole = file.length > hashBytes && file.subarray(0, hashBytes).equals(hashOf(image));
    if (!isWhole) {
      this.#faults += 1;
      await this.#delete(name);
      return undefined;
    }
    this.#hits += 1;
    this.#use(name, file.length);
    const now = this.#clock.now() / 1_000;
    await utimes(this.#file(name), now, now).catch(() => undefined);
    return image;
  }

  /** Stores an image if possible. Never rejects. */
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
      this.#prune();
    } catch {
      this.#faults += 1;
      this.#pausedUntilMs = this.#clock.monotonicMs() + pauseMs;
      await rm(draft, { force: true }).catch(() => undefined);
    }
  }

  /** Resolves when the folder is read and no pruning is under way. */
  async settled(): Promise<void> {
    await this.#loaded;
    await this.#pruning;
  }

  /** Makes the entry the most recently used. */
  #use(name: string, fileBytes: number): void {
    this.#remove(name);
    const bytes = Math.ceil(fileBytes / blockBytes) * blockBytes;
    this.#entries.set(name, bytes);
    this.#bytes += bytes;
  }

  #remove(name: string): void {
    this.#bytes -= this.#entries.get(name) ?? 0;
    this.#entries.delete(name);
  }

  async #delete(name: string): Promise<void> {
    this.#remove(name);
    await rm(this.#file(name), { force: true }).catch(() => undefined);
  }

  #prune(): void {
    if (this.#bytes <= this.#bytesMax || this.#pruning !== undefined) return;
    const prune = async (): Promise<void> => {
      // Until the folder is read, new files would go instead of old ones.
      await this.#loaded;
      for (const name of this.#entries.keys()) {
        if (this.#bytes <= this.#bytesMax * prunedShare) break;
        await this.#delete(name);
      }
    };
    this.#pruning = prune().finally(() => (this.#pruning = undefined));
  }

  /** Reads names, sizes and times; deletes files that a crash left half written. */
  async #load(): Promise<void> {
    const found: Array<{ name: string; bytes: number; usedMs: number }> = [];
    for (const entry of await readdir(this.#folder).catch(() => [])) {
      if (entry.endsWith('.new'))
        await rm(join(this.#folder, entry), { force: true }).catch(() => undefined);
      if (!folderPattern.test(entry)) continue;
      for (const rest of await readdir(join(this.#folder, entry)).catch(() => [])) {
        const file = await stat(join(this.#folder, entry, rest)).catch(() => undefined);
        if (file === undefined || !filePattern.test(rest)) continue;
        found.push({ name: entry + rest, bytes: file.size, usedMs: file.mtimeMs });
      }
    }
    const stored = [...this.#entries];
    this.#entries.clear();
    this.#bytes = 0;
    for (const { name, bytes } of found.toSorted((one, other) => one.usedMs - other.usedMs)) {
      this.#use(name, bytes);
    }
    for (const [name, bytes] of stored) this.#use(name, bytes);
    this.#prune();
  }

  #file(name: string): string {
    return join(this.#folder, name.slice(0, 2), name.slice(2));
  }
}

function nameOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function hashOf(image: Uint8Array): Buffer {
  return createHash('sha256').update(image).digest();
}
