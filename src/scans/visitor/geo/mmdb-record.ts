/**
 * Records of an mmdb file (MaxMind DB format 2.0, "Data Section"), decoded from its bytes.
 *
 *     control byte   type (3 bits) and size (5 bits): 29 to 31 = one to three more bytes of size;
 *                    type 0 = the next byte + 7                                    then the payload
 *     pointer        type 1: two bits of width, the rest and the next bytes an offset from `base`
 *
 * Of a map only the fields that a place or a tree needs are decoded. Numbers of other types (floats, negative integers,
 * bytes) are passed over as undefined.
 */
import type { FilePages } from './file-pages.ts';

/** Read by place.ts and mmdb.ts, at any depth. */
const fields = new Set(
  'country_code country iso_code city names en node_count record_size ip_version'.split(' '),
);
/** Deeper is a loop of pointers, or a file made to harm. */
const depthMax = 16;
/** Decoded values of a record: GeoLite2's largest have about 200. */
const valuesMax = 4_096;
const textBytesMax = 4_096;
const types = {
  pointer: 1,
  text: 2,
  uint16: 5,
  uint32: 6,
  map: 7,
  uint64: 9,
  uint128: 10,
} as const;
const arrayType = 11;
const booleanType = 14;

/**
 * @param base where pointers count from
 * @param at of the record's control byte
 * @throws Error when it is damaged or beyond every bound
 */
export function decodeRecord(file: FilePages, base: number, at: number): unknown {
  return new RecordDecoder(file, base, at).value(0);
}

class RecordDecoder {
  readonly #file: FilePages;
  readonly #base: number;
  #at: number;
  #values = 0;

  constructor(file: FilePages, base: number, at: number) {
    this.#file = file;
    this.#base = base;
    this.#at = at;
  }

  value(depth: number): unknown {
    this.#count(depth);
    const control = this.#uint(1);
    const type = control >>> 5 === 0 ? 7 + this.#uint(1) : control >>> 5;
    if (type === types.pointer) return this.#pointed(control, depth);
    const size = this.#size(control & 31);
    switch (type) {
      case types.text:
        return this.#text(size);
      case types.uint16:
      case types.uint32:
      case types.uint64:
      case types.uint128:
        return this.#uint(Math.min(size, 16));
      case types.map:
        return this.#map(size, depth);
      case arrayType:
        return Array.from({ length: Math.min(size, valuesMax) }, () => this.value(depth + 1));
      case booleanType:
        return size !== 0;
      default:
        this.#at += size;
        return undefined;
    }
  }

  #count(depth: number): void {
    if (depth > depthMax || ++this.#values > valuesMax || this.#at >= this.#file.size) {
      throw new Error('Cannot decode a record: damaged');
    }
  }

  #pointed(control: number, depth: number): unknown {
    const width = (control >>> 3) & 3;
    const high = control & 7;
    const target =
      width === 3
        ? this.#uint(4)
        : high * 256 ** (width + 1) + this.#uint(width + 1) + [0, 2_048, 526_336][width]!;
    const after = this.#at;
    this.#at = this.#base + target;
    const value = this.value(depth + 1);
    this.#at = after;
    return value;
  }

  #map(size: number, depth: number): unknown {
    const map: Record<string, unknown> = Object.create(null);
    for (let index = 0; index < size; index++) {
      const key = this.value(depth + 1);
      if (typeof key === 'string' && fields.has(key)) map[key] = this.value(depth + 1);
      else this.#skip(depth + 1);
    }
    return map;
  }

  /** Passes over a value. */
  #skip(depth: number): void {
    this.#count(depth);
    const control = this.#uint(1);
    const type = control >>> 5 === 0 ? 7 + this.#uint(1) : control >>> 5;
    if (type === types.pointer) {
      this.#at += ((control >>> 3) & 3) + 1;
      return;
    }
    const size = this.#size(control & 31);
    if (type === booleanType) return;
    const values = type === types.map ? size * 2 : type === arrayType ? size : 0;
    for (let index = 0; index < values; index++) this.#skip(depth + 1);
    if (type !== types.map && type !== arrayType) this.#at += size;
  }

  #text(size: number): string {
    if (size > textBytesMax) throw new Error(`Cannot decode a text of ${size} bytes`);
    const text = this.#file.text(this.#at, size);
    this.#at += size;
    return text;
  }

  #size(size: number): number {
    if (size < 29) return size;
    return this.#uint(size - 28) + [29, 285, 65_821][size - 29]!;
  }

  #uint(width: number): number {
    let value = 0;
    for (let index = 0; index < width; index++) value = value * 256 + this.#byte();
    return value;
  }

  #byte(): number {
    return this.#file.bytes[this.#file.locate(this.#at++)] ?? 0;
  }
}
