/**
 * A block as it stands in the store (block.ts draws it), without a copy, a map or an object of its own: one reader goes
 * over millions of blocks, of which most have few scans on a quiet installation. Strings are found when they are asked
 * for; the city and the referer of scans that nobody counts never are.
 */
import { dataDamaged } from '../../../model/failure.ts';
import type { ValueInPlace } from '../../../store/environment.ts';
import { blockHeaderBytes, blockVersion, groupBytes, oldestVersion } from '../../block.ts';

/** Strings of a block before the list of their places first grows. */
const firstStrings = 1_024;

export class BlockReader {
  view: DataView = new DataView(new ArrayBuffer(0));
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  /** Where each string's bytes begin, by its number; of `#foundStrings` of them. */
  #stringPlaces = new Uint32Array(firstStrings);
  #foundStrings = 0;
  #nextStringAt = 0;
  #strings = 0;
  groups = 0;
  /** Where groups, entries and strings begin in `view`. */
  groupsAt = 0;
  entriesAt = 0;
  stringsAt = 0;
  /** Differs from that of the block before. */
  opened = 0;

  /** @returns whether it has the form of a block: nothing of it is read outside of it then */
  open({ bytes, view, start, end }: ValueInPlace): boolean {
    const length = end - start;
    if (length < blockHeaderBytes) return false;
    const version = view.getUint8(start);
    const groups = view.getUint32(start + 4, true);
    const entriesAt = blockHeaderBytes + groups * groupBytes;
    const stringsAt = view.getUint32(start + 24, true);
    if (version < oldestVersion || version > blockVersion) return false;
    if (entriesAt > stringsAt || stringsAt > length) return false;
    this.#bytes = bytes;
    this.view = view;
    this.#at = start;
    this.#end = end;
    this.groups = groups;
    this.groupsAt = start + blockHeaderBytes;
    this.entriesAt = start + entriesAt;
    this.stringsAt = start + stringsAt;
    this.#foundStrings = 0;
    this.#nextStringAt = this.stringsAt;
    this.#strings = view.getUint32(start + 28, true);
    this.opened++;
    return true;
  }

  get sequence(): number {
    return this.view.getFloat64(this.#at + 8, true);
  }
  get newestMs(): number {
    return this.view.getFloat64(this.#at + 16, true);
  }
  codeNo(group: number): number {
    return this.view.getUint32(this.groupsAt + group * groupBytes, true);
  }
  previous(group: number): number {
    return this.view.getFloat64(this.groupsAt + group * groupBytes + 16, true);
  }

  /**
   * Where the bytes of a string begin in `view`.
   * @param number not 0, which is the empty one
   * @throws Failure data_damaged where the block does not have it whole: of an older release it may have no checksum
   */
  stringAt(number: number): number {
    if (number > this.#strings) throw stringDamaged();
    while (this.#foundStrings < number) this.#findString();
    return this.#stringPlaces[number]!;
  }
  /** Bytes of the string there. */
  stringBytes(at: number): number {
    return this.view.getUint16(at - 2, true);
  }
  text(at: number): string {
    return this.#bytes.toString('utf8', at, at + this.stringBytes(at));
  }

  /**
   * The number of a string; -1 = the block does not have it.
   * @param bytes not empty: that has number 0 in every block
   * @throws Failure data_damaged
   */
  numberOf(bytes: Uint8Array): number {
    const { view } = this;
    for (let number = 1; number <= this.#strings; number++) {
      const at = this.stringAt(number);
      if (this.stringBytes(at) !== bytes.length) continue;
      let same = 0;
      while (same < bytes.length && view.getUint8(at + same) === bytes[same]) same++;
      if (same === bytes.length) return number;
    }
    return -1;
  }

  #findString(): void {
    const number = this.#foundStrings + 1;
    if (number >= this.#stringPlaces.length) {
      const grown = new Uint32Array(number * 2);
      grown.set(this.#stringPlaces);
      this.#stringPlaces = grown;
    }
    const at = this.#nextStringAt + 2;
    const next = at > this.#end ? Infinity : at + this.stringBytes(at);
    if (next > this.#end) throw stringDamaged();
    this.#stringPlaces[number] = at;
    this.#nextStringAt = next;
    this.#foundStrings = number;
  }
}

const stringDamaged = () => dataDamaged('A block of scans does not have all of its strings');
