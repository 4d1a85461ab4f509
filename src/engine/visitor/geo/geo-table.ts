/**
 * Look-ups in a table of places (table-layout.ts): one finds country and city of an address.
 *
 *     address ─ entry of its first 16 or 32 bits ─ unit ─ node of the next 16 bits, and of the next … ─ number ─ Place
 *
 * Keeps no addresses. Damaged or unreadable data is nowhere.
 */
import { countryCode } from '../../../model/scan.ts';
import { nowhere, Place } from './place.ts';
import { type OpenTable, UnitReader } from './table-units.ts';
import {
  firstsOfIpv4,
  type Header,
  flagNode,
  flagUnit,
  placesPerUnit,
  unitHeaderWords,
} from './table-layout.ts';

export class GeoTable {
  readonly #reader: UnitReader;
  readonly #words: Uint32Array;
  readonly #halves: Uint16Array;
  readonly #bytes: Uint8Array;
  readonly #header: Header;
  /** Offsets in words. */
  readonly #firsts: number;
  readonly #entries: number;
  readonly #placeUnits: number;
  /** By number, created on demand: 12 MB for all 140,000 of the bundled data. */
  #places: Array<Place | undefined> = [];

  constructor(table: OpenTable) {
    const { header, memory } = table;
    this.#reader = new UnitReader(table);
    this.#words = new Uint32Array(memory);
    this.#halves = new Uint16Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#header = header;
    this.#firsts = header.directory + firstsOfIpv4;
    this.#entries = this.#firsts + header.ipv6Entries;
    this.#placeUnits = this.#entries + header.ipv6Entries;
  }

  /** Place of the four bytes of an IPv4 address at `at`. */
  ofIpv4(address: Uint8Array, at: number): Place {
    const first = (address[at]! << 8) | address[at + 1]!;
    return this.#ofEntry(this.#header.directory + first, address, at + 2, at + 4);
  }

  /** Place of the 16 bytes of an address in 2000::/3 at `at`. */
  ofIpv6(address: Uint8Array, at: number): Place {
    const high = (address[at]! << 8) | address[at + 1]!;
    const low = (address[at + 2]! << 8) | address[at + 3]!;
    const { ipv6Entries } = this.#header;
    const first = high * 65_536 + low;
    const words = this.#words;
    let from = this.#firsts;
    let to = from + ipv6Entries;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (words[middle]! <= first) from = middle + 1;
      else to = middle;
    }
    return this.#ofEntry(from - 1 + ipv6Entries, address, at + 4, at + 16);
  }

  /** @param entryAt index of the entry in memory @param at first byte of the address after its bits */
  #ofEntry(entryAt: number, address: Uint8Array, at: number, end: number): Place {
    const entry = this.#words[entryAt]!;
    const number = entry < flagUnit ? entry : this.#find(entryAt, address, at, end);
    return this.#places[number] ?? this.#make(number);
  }

  /** Number of the place, 0 when the unit is unusable. */
  #find(entryAt: number, address: Uint8Array, at: number, end: number): number {
    const unit = this.#reader.locate(entryAt);
    if (unit === 0) return 0;
    const halves = this.#halves;
    const bytes = this.#bytes;
    let node = unit + unitHeaderWords;
    for (let next = at; next < end; next += 2) {
      const wanted = (address[next]! << 8) | address[next + 1]!;
      const starts = halves[node * 2]!;
      const values = halves[node * 2 + 1]! + 1;
      const begin = node * 2 + 2;
      let from = begin;
      let to = begin + starts;
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (halves[middle]! <= wanted) from = middle + 1;
        else to = middle;
      }
      const division = from - begin;
      const indexes = (begin + starts) * 2;
      const isWide = values > 256;
      const index = isWide ? halves[begin + starts + division]! : bytes[indexes + division]!;
      const value = indexes + (starts + 1) * (isWide ? 2 : 1) + index * 3;
      const number = bytes[value]! | (bytes[value + 1]! << 8) | (bytes[value + 2]! << 16);
      if (number < flagNode) return number;
      node = unit + (number - flagNode);
    }
    return 0;
  }

  #make(number: number): Place {
    const { places } = this.#header;
    if (!(number < places)) return nowhere;
    const unit = this.#reader.locate(this.#placeUnits + Math.floor(number / placesPerUnit));
    if (unit === 0) return nowhere;
    const index = number % placesPerUnit;
    const count = Math.min(placesPerUnit, places - number + index);
    const countries = (unit + unitHeaderWords) * 2;
    const ends = countries + count;
    const names = (ends + count) * 2;
    const from = index === 0 ? 0 : this.#halves[ends + index - 1]!;
    const city = this.#bytes.slice(names + from, names + this.#halves[ends + index]!);
    const country = countryCode(this.#halves[countries + index]!);
    const place = new Place(country, Buffer.from(city.buffer).toString());
    if (this.#places.length === 0) this.#places = Array.from({ length: places });
    this.#places[number] = place;
    return place;
  }
}
