/** Writes entries and their programs into blocks of the arena that no reader sees yet. */
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import { programWord, programZones, wordRange } from '../routes/program-layout.ts';
import type { Arena } from './arena.ts';
import { wordOf } from './finder.ts';
import type { FoldedKey } from './key.ts';
import {
  entryWord,
  expiryWord,
  type Link,
  limitWord,
  liveUnits,
  programUnits,
  programWordOf,
  shapeBit,
  targetWord,
} from './layout.ts';
import type { ZoneCells } from './zone-cells.ts';

export class EntryWriter {
  readonly #arena: Arena;
  readonly #zones: ZoneCells;
  readonly #key: FoldedKey;

  /** @param key of each entry: the one folded last */
  constructor(arena: Arena, zones: ZoneCells, key: FoldedKey) {
    this.#arena = arena;
    this.#zones = zones;
    this.#key = key;
  }

  /** @param bits tombstone bits @param cell scan counter, 0 = no limit @throws Failure `storage_full` */
  write(link: Omit<Link, 'scansLeft'>, bits: number, cell: number): number {
    const { codeNo, workspaceNo, target, expiresAtMs } = link;
    const program = link.program === undefined ? 0 : this.#program(bufferOver(link.program));
    const shape =
      shapeOf(this.#key.length, target.length, expiresAtMs, program) |
      (cell === 0 ? 0 : shapeBit.limited) |
      bits;
    const entry = this.#allocate(liveUnits(shape), program);
    this.#writeHead(entry, codeNo, workspaceNo, shape);
    this.#arena.writeAscii(entry, targetWord(shape), target);
    this.#writeEnd(entry, shape, expiresAtMs, program);
    if (cell !== 0) this.#arena.chunkOf(entry)[wordOf(entry) + limitWord(shape)] = cell;
    return entry;
  }

  /** The program of a live entry; 0 = none. */
  programOf(entry: number): number {
    const words = this.#arena.chunkOf(entry);
    const at = wordOf(entry);
    const shape = words[at + entryWord.shape]!;
    if ((shape & (shapeBit.routed | shapeBit.tombstone)) !== shapeBit.routed) return 0;
    return words[at + programWordOf(shape)]! >>> 0;
  }

  unitsOf(program: number): number {
    return programUnits(this.#arena.chunkOf(program)[wordOf(program) + programWord.words]!);
  }

  #program(bytes: Buffer): number {
    const words = bytes.length / Int32Array.BYTES_PER_ELEMENT;
    const units = programUnits(words);
    const program = this.#arena.allocate(units);
    this.#arena.writeBytes(program, 0, bytes, 0, bytes.length);
    const at = wordOf(program);
    const chunk = this.#arena.chunkOf(program);
    try {
      for (const { word, name } of programZones(chunk.subarray(at, at + words))) {
        chunk[at + word] = this.#zones.cellOf(name);
      }
    } catch (error) {
      this.#arena.release(program, units);
      throw error;
    }
    return program;
  }

  #allocate(units: number, program: number): number {
    try {
      return this.#arena.allocate(units);
    } catch (error) {
      if (program !== 0) this.#arena.release(program, this.unitsOf(program));
      throw error;
    }
  }

  #writeHead(entry: number, codeNo: CodeNo, workspaceNo: WorkspaceNo, shape: number): void {
    const keyWords = this.#key.words;
    const words = this.#arena.chunkOf(entry);
    const at = wordOf(entry);
    words[at + entryWord.codeNo] = codeNo;
    words[at + entryWord.workspaceNo] = workspaceNo;
    words[at + entryWord.shape] = shape;
    const count = targetWord(shape) - entryWord.key;
    for (let i = 0; i < count; i += 1) words[at + entryWord.key + i] = keyWords[i]!;
  }

  #writeEnd(entry: number, shape: number, expiresAtMs: number, program: number): void {
    const words = this.#arena.chunkOf(entry);
    const at = wordOf(entry);
    if (expiresAtMs !== 0) {
      const low = at + expiryWord(shape);
      words[low] = expiresAtMs % wordRange;
      words[low + 1] = Math.floor(expiresAtMs / wordRange);
    }
    if (program !== 0) words[at + programWordOf(shape)] = program;
  }
}

const shapeOf = (
  keyBytes: number,
  targetLength: number,
  expiresAtMs: number,
  program: number,
): number =>
  keyBytes |
  (targetLength << shapeBit.targetShift) |
  (expiresAtMs === 0 ? 0 : shapeBit.expires) |
  (program === 0 ? 0 : shapeBit.routed);

const bufferOver = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
