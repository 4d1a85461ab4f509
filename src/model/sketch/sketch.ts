/**
 * Counts unique scanners: exactly while few, then within about ±1.2 % (two standard errors of 0.59 %). Its bytes depend only
 * on the set of hashes, so unions are commutative, associative and idempotent down to the bytes. It is stored in chunks,
 * because LMDB rewrites complete values: a window writes at most 1 KB for a new visitor.
 *
 *     ≤ 64 visitors   one inline sorted list in the day's record, 6 bytes per visitor
 *     more            16 chunks by the first 4 hash bits, each alone
 *                       sparse: form 1, sorted list of ≤ 170 entries, counted     dense: form 2, 1,024 registers, estimated
 *
 *     hash   hi 31..18: register, of which the first 4 bits are the chunk; hi 17..0, lo 31..18: level; lo 17..0: unused
 *     An entry is hi and the upper half of lo, big-endian: among 2,000 visitors, two share one with a chance of 1 in 10^8.
 */
import {
  checkDense,
  chunkRegisters,
  corrupt,
  Entries,
  entryBytes,
  formDense,
  formSparse,
  parseChunk,
  parseEntries,
  parseSparse,
  Registers,
  sparseVisitorsMax,
  type Chunk,
} from './sketch-chunk.ts';
import { estimateDistinct, relativeError } from './ultra-log-log.ts';

export const sketchChunks = 16;
/** 384 bytes in the day's record; above that a chunk of its own is cheaper. */
const inlineVisitorsMax = 64;

export type ChunkSource = (index: number) => Uint8Array | undefined;

/** Aligns stored registers for a union; used within one call. */
const aligned = new Registers();

export class Sketch {
  #inline: Entries | undefined;
  readonly #chunks: (Chunk | undefined)[];
  #dirty = 0;

  private constructor(inline: Entries | undefined, chunks: (Chunk | undefined)[]) {
    this.#inline = inline;
    this.#chunks = chunks;
  }

  static empty(): Sketch {
    return new Sketch(new Entries(new Uint8Array(0), 0), []);
  }

  /** Copies stored bytes. @param chunk called when `inline` is empty @throws Failure data_damaged */
  static fromParts(inline: Uint8Array, chunk: ChunkSource): Sketch {
    if (inline.length > 0) {
      return new Sketch(parseEntries(inline, inlineVisitorsMax, -1), []);
    }
    const chunks: (Chunk | undefined)[] = [];
    let found = false;
    for (let index = 0; index < sketchChunks; index++) {
      const bytes = chunk(index);
      chunks.push(bytes === undefined ? undefined : parseChunk(bytes, index));
      found ||= bytes !== undefined;
    }
    return found ? new Sketch(undefined, chunks) : Sketch.empty();
  }

  /** Adds a 64-bit hash as two unsigned halves. @returns whether the sketch changed */
  add(hi: number, lo: number): boolean {
    return this.#addEntry(hi >>> 0, lo >>> 16);
  }

  /** Distinct visitors, exact while all chunks are sparse. */
  estimate(): number {
    const { counted, estimated } = this.#sum();
    return counted + estimated;
  }

  /** Of the estimate, in visitors; 0 while it is exact. */
  standardError(): number {
    const { estimated, registers } = this.#sum();
    return registers === 0 ? 0 : estimated * relativeError(registers);
  }

  #sum(): { readonly counted: number; readonly estimated: number; readonly registers: number } {
    if (this.#inline !== undefined) {
      return { counted: this.#inline.count, estimated: 0, registers: 0 };
    }
    let counted = 0;
    let registers = 0;
    let counts: Uint32Array | undefined;
    for (const chunk of this.#chunks) {
      if (chunk === undefined) continue;
      if (chunk instanceof Entries) {
        counted += chunk.count;
        continue;
      }
      counts ??= new Uint32Array(256);
      for (let at = 1; at <= chunkRegisters; at++) counts[chunk.bytes[at]!]!++;
      registers += chunkRegisters;
    }
    const estimated = counts === undefined ? 0 : Math.round(estimateDistinct(counts, registers));
    return { counted, estimated, registers };
  }

  isInline(): boolean {
    return this.#inline !== undefined;
  }

  /** For the day's record: ≤ 384 bytes, empty after the split. A view: store it before `add`. */
  inlineBytes(): Uint8Array {
    return this.#inline?.used() ?? new Uint8Array(0);
  }

  /** Ascending indexes of the chunks that changed since `clean()`. */
  dirtyChunks(): number[] {
    const indexes: number[] = [];
    for (let index = 0; index < sketchChunks; index++) {
      if ((this.#dirty >>> index) & 1) indexes.push(index);
    }
    return indexes;
  }

  /** Call it when the dirty chunks and the inline list are stored. */
  clean(): void {
    this.#dirty = 0;
  }

  /** The stored form of a non-empty chunk. A dense one is a view: store it before `add`. */
  chunkBytes(index: number): Uint8Array {
    const chunk = this.#chunks[index];
    if (chunk === undefined) throw new Error(`Cannot store chunk ${index}: it is empty`);
    if (chunk instanceof Registers) return chunk.bytes;
    const bytes = new Uint8Array(1 + chunk.count * entryBytes);
    bytes[0] = formSparse;
    bytes.set(chunk.used(), 1);
    return bytes;
  }

  merge(other: Sketch): void {
    this.#mergeEntries(other.#inline);
    for (let index = 0; index < sketchChunks; index++) {
      const chunk = other.#chunks[index];
      if (chunk instanceof Entries) this.#mergeEntries(chunk);
      else if (chunk !== undefined) this.#mergeDense(chunk.words, index);
    }
  }

  /** Union with stored bytes. Only `estimate` checks registers. @throws Failure data_damaged for a list or a form */
  mergeParts(inline: Uint8Array, chunk: ChunkSource): void {
    if (inline.length > 0) {
      this.#mergeEntries(parseEntries(inline, inlineVisitorsMax, -1));
      return;
    }
    for (let index = 0; index < sketchChunks; index++) {
      const bytes = chunk(index);
      if (bytes === undefined) continue;
      if (bytes[0] === formDense) {
        checkDense(bytes);
        aligned.bytes.set(bytes);
        this.#mergeDense(aligned.words, index);
      } else if (bytes[0] === formSparse) {
        this.#mergeEntries(parseSparse(bytes, index));
      } else throw corrupt(`a chunk of form ${bytes[0]}`, 'sparse or dense');
    }
  }

  #addEntry(hi: number, lo16: number): boolean {
    const inline = this.#inline;
    if (inline === undefined) return this.#addToChunk(hi, lo16);
    const place = inline.find(hi, lo16);
    if (place >= 0) return false;
    if (inline.count < inlineVisitorsMax) {
      inline.insert(-1 - place, hi, lo16);
      return true;
    }
    this.#split(inline);
    return this.#addToChunk(hi, lo16);
  }

  #addToChunk(hi: number, lo16: number): boolean {
    const index = hi >>> 28;
    const chunk = this.#chunks[index];
    if (chunk === undefined) {
      const entries = new Entries(new Uint8Array(0), 0);
      entries.insert(0, hi, lo16);
      this.#chunks[index] = entries;
    } else if (chunk instanceof Entries) {
      const place = chunk.find(hi, lo16);
      if (place >= 0) return false;
      if (chunk.count < sparseVisitorsMax) chunk.insert(-1 - place, hi, lo16);
      else {
        const dense = new Registers();
        dense.addAll(chunk);
        dense.add(hi, lo16);
        this.#chunks[index] = dense;
      }
    } else if (!chunk.add(hi, lo16)) return false;
    this.#dirty |= 1 << index;
    return true;
  }

  #split(inline: Entries): void {
    this.#inline = undefined;
    for (let index = 0; index < sketchChunks; index++) this.#chunks[index] = undefined;
    for (let at = 0; at < inline.count; at++) this.#addToChunk(inline.high(at), inline.low(at));
  }

  #mergeEntries(entries: Entries | undefined): void {
    if (entries === undefined) return;
    // Safe for this sketch's list: it adds nothing new, so it does not change.
    for (let at = 0; at < entries.count; at++) this.#addEntry(entries.high(at), entries.low(at));
  }

  #mergeDense(words: Int32Array, index: number): void {
    if (this.#inline !== undefined) this.#split(this.#inline);
    const chunk = this.#chunks[index];
    if (chunk instanceof Registers) {
      if (chunk.unite(words)) this.#dirty |= 1 << index;
      return;
    }
    const dense = new Registers();
    dense.words.set(words);
    if (chunk !== undefined) dense.addAll(chunk);
    this.#chunks[index] = dense;
    this.#dirty |= 1 << index;
  }
}
