/**
 * Puts the networks of one family, as they come in the order of their addresses, into units (table-layout.ts).
 *
 *     networks -- equal neighbours as one -- a group for all that begin alike -- one place: an entry; more: a unit
 *
 * Only the networks of one group are in memory: at most 65,536 for IPv4, and what lies in a /32 for IPv6.
 */
import { flagNode, flagUnit, unitHeaderWords, valuesMax } from './table-layout.ts';

/** Numbers in a row, as many as come. */
export class Numbers {
  #array: Uint32Array;
  length = 0;

  constructor(expected = 1_024) {
    this.#array = new Uint32Array(expected);
  }

  get all(): Uint32Array {
    return this.#array.subarray(0, this.length);
  }

  at(index: number): number {
    return this.#array[index]!;
  }

  push(value: number): void {
    if (this.length === this.#array.length) {
      const larger = new Uint32Array(this.length * 2);
      larger.set(this.#array);
      this.#array = larger;
    }
    this.#array[this.length++] = value;
  }
}

/** What takes units, and says where each one is. */
export interface UnitSink {
  /** Fills in the unit's header. @returns its offset */
  appendUnit(words: Uint32Array): number;
}

export const bytesOf = (words: Uint32Array): Uint8Array =>
  new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

/** A place, or what divides its addresses further: the networks from `from` to before `to`. */
interface Division {
  readonly start: number;
  readonly place: number;
  readonly from: number;
  readonly to: number;
}

const nodeHeaderBytes = 4;
const firstUnitBytes = 1 << 16;

export class NetworkWriter {
  readonly #sink: UnitSink;
  /** With which 32 or 16 bits the addresses of an entry begin, ascending; and the entries. */
  readonly firsts = new Numbers(1 << 16);
  readonly entries = new Numbers(1 << 16);
  /** Of the group: three words behind what all its addresses begin with, and the place, of each network. */
  #networks = new Numbers();
  #first = -1;
  #place = -1;
  #unit = new Uint8Array(firstUnitBytes);
  #unitBytes = 0;

  constructor(sink: UnitSink) {
    this.#sink = sink;
  }

  /**
   * @param first what the group has in common; not below that of the network before
   * @param high the next 32 bits of the network's first address, `middle` and `low` those behind
   */
  add(first: number, high: number, middle: number, low: number, place: number): void {
    if (place === this.#place) return;
    if (first !== this.#first) {
      this.#endGroup(first);
      this.#first = first;
      if (high !== 0 || middle !== 0 || low !== 0) this.#push(0, 0, 0, this.#place);
    }
    this.#push(high, middle, low, place);
    this.#place = place;
  }

  /** @param next what follows the last address, as `first` */
  end(next: number): void {
    this.#endGroup(next);
  }

  #push(high: number, middle: number, low: number, place: number): void {
    const networks = this.#networks;
    networks.push(high);
    networks.push(middle);
    networks.push(low);
    networks.push(place);
  }

  #endGroup(next: number): void {
    const count = this.#networks.length / 4;
    if (count === 0) return;
    if (count === 1) {
      this.#enter(this.#first, this.#networks.at(3));
    } else {
      this.#enter(this.#first, flagUnit + this.#sink.appendUnit(this.#divide(count)));
      if (this.#first + 1 < next) this.#enter(this.#first + 1, this.#place);
    }
    this.#networks.length = 0;
  }

  #enter(first: number, entry: number): void {
    this.firsts.push(first);
    this.entries.push(entry);
  }

  #divide(count: number): Uint32Array {
    this.#unitBytes = unitHeaderWords * 4;
    this.#writeNode(0, count, 0);
    const words = new Uint32Array(this.#unitBytes / 4);
    bytesOf(words).set(this.#unit.subarray(0, this.#unitBytes));
    return words;
  }

  /** The 16 bits of a network's first address at which a node of this depth divides. */
  #bitsOf(network: number, depth: number): number {
    const word = this.#networks.at(network * 4 + (depth >>> 1));
    return (depth & 1) === 0 ? word >>> 16 : word & 0xffff;
  }

  #beginsHere(network: number, depth: number): boolean {
    for (let below = depth + 1; below < 6; below++)
      if (this.#bitsOf(network, below) !== 0) return false;
    return true;
  }

  /** @returns its offset from the unit, in words */
  #writeNode(from: number, to: number, depth: number): number {
    const divisions = this.#divisions(from, to, depth);
    const values = new Map<number, number>();
    let nodes = 0;
    for (const { place, from: first, to: end } of divisions) {
      if (end > first) nodes++;
      else if (!values.has(place)) values.set(place, values.size);
    }
    const places = values.size;
    const count = divisions.length;
    const indexBytes = places + nodes > 256 ? 2 : 1;
    const indexAt = nodeHeaderBytes + (count - 1) * 2;
    const valuesAt = indexAt + count * indexBytes;
    const offset = this.#unitBytes;
    this.#take((valuesAt + (places + nodes) * 3 + 3) & ~3);
    // The unit may move when a node below takes its bytes.
    const put = (at: number, value: number, bytes: number): void => {
      for (let byte = 0; byte < bytes; byte++) {
        this.#unit[offset + at + byte] = value >>> (byte * 8);
      }
    };
    put(0, count - 1, 2);
    put(2, places + nodes - 1, 2);
    for (const [place, index] of values) put(valuesAt + index * 3, place, 3);
    let nodeIndex = places;
    for (const [index, { start, place, from: first, to: end }] of divisions.entries()) {
      if (index > 0) put(nodeHeaderBytes + (index - 1) * 2, start, 2);
      if (end === first) {
        put(indexAt + index * indexBytes, values.get(place)!, indexBytes);
        continue;
      }
      put(valuesAt + nodeIndex * 3, flagNode + this.#writeNode(first, end, depth + 1), 3);
      put(indexAt + index * indexBytes, nodeIndex++, indexBytes);
    }
    return offset / 4;
  }

  /** How the networks divide 16 bits, which begin with the place of the network before where none begins there. */
  #divisions(from: number, to: number, depth: number): Division[] {
    const divisions: Division[] = [];
    let network = from;
    if (this.#bitsOf(from, depth) !== 0) {
      divisions.push({ start: 0, place: this.#networks.at(from * 4 - 1), from: 0, to: 0 });
    }
    while (network < to) {
      const start = this.#bitsOf(network, depth);
      let end = network + 1;
      while (end < to && this.#bitsOf(end, depth) === start) end++;
      const place = this.#networks.at((end - 1) * 4 + 3);
      if (end === network + 1 && this.#beginsHere(network, depth)) {
        divisions.push({ start, place, from: 0, to: 0 });
      } else {
        divisions.push({ start, place, from: network, to: end });
        const isNextKnown = end < to && this.#bitsOf(end, depth) === start + 1;
        if (!isNextKnown && start < 0xffff) {
          divisions.push({ start: start + 1, place, from: 0, to: 0 });
        }
      }
      network = end;
    }
    return divisions;
  }

  /** @throws Error when the unit is larger than an offset in it can say */
  #take(bytes: number): void {
    const from = this.#unitBytes;
    this.#unitBytes += bytes;
    if (this.#unitBytes / 4 > valuesMax) throw new Error('it has too many networks');
    if (this.#unitBytes > this.#unit.length) {
      const larger = new Uint8Array(this.#unitBytes * 2);
      larger.set(this.#unit.subarray(0, from));
      this.#unit = larger;
    }
    this.#unit.fill(0, from, this.#unitBytes);
  }
}
