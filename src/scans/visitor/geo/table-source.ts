/**
 * Networks of a table that is there already: the one file brings the bundled data as tables alone, and an operator may
 * have a file of cities beside the bundled one of countries, or the other way round.
 */
import type { FilePart } from '../../../shipped.ts';
import { GeoTable } from './geo-table.ts';
import { type Family, type GeoSource, type Networks, SourceError } from './networks.ts';
import { closeTable, openTable, type OpenTable, UnitReader } from './table-units.ts';
import { firstsOfIpv4, flagNode, flagUnit, unitHeaderWords } from './table-layout.ts';

/** What the table stands for: as cities, it leaves out what it knows of countries alone. */
export type SourceRole = 'cities' | 'countries';

export class TableSource implements GeoSource {
  readonly #table: OpenTable;
  readonly #role: SourceRole;
  readonly holdsIpv6 = true;

  private constructor(table: OpenTable, role: SourceRole) {
    this.#table = table;
    this.#role = role;
  }

  /** @throws Error of the system, or saying what is wrong with the file */
  static open(part: FilePart, role: SourceRole): TableSource {
    return new TableSource(openTable(part), role);
  }

  networks(family: Family, numberOf: (record: unknown) => number): Networks {
    const places = new GeoTable(this.#table);
    const known = new Map<number, number>();
    return new TableNetworks(this, this.#table, family, (number) => {
      let place = known.get(number);
      if (place === undefined) {
        const isHidden = this.#role === 'cities' && places.isOfCountries(number);
        place = isHidden ? 0 : numberOf(places.place(number));
        known.set(number, place);
      }
      return place;
    });
  }

  close(): void {
    closeTable(this.#table);
  }
}

const highest = 0xffff;

class TableNetworks implements Networks {
  readonly #source: GeoSource;
  readonly #reader: UnitReader;
  readonly #words: Uint32Array;
  readonly #halves: Uint16Array;
  readonly #bytes: Uint8Array;
  readonly #placeOf: (number: number) => number;
  readonly #networks: Generator<void>;
  /** The last address, 16 bits each. */
  readonly #last = new Uint16Array(8).fill(highest);
  readonly last = new Uint32Array(4);
  readonly aliases: number;
  place = 0;

  constructor(
    source: GeoSource,
    table: OpenTable,
    family: Family,
    placeOf: (number: number) => number,
  ) {
    this.#source = source;
    this.#reader = new UnitReader(table);
    this.#words = new Uint32Array(table.memory);
    this.#halves = new Uint16Array(table.memory);
    this.#bytes = new Uint8Array(table.memory);
    this.#placeOf = placeOf;
    const { directory, ipv6Entries, flags } = table.header;
    this.aliases = flags;
    this.#networks =
      family === 4 ? this.#ofIpv4(directory) : this.#ofIpv6(directory + firstsOfIpv4, ipv6Entries);
  }

  next(): boolean {
    try {
      return this.#networks.next().done !== true;
    } catch (error) {
      throw new SourceError(this.#source, error);
    }
  }

  *#ofIpv4(entries: number): Generator<void> {
    this.#last.fill(0, 0, 6);
    for (let first = 0; first < firstsOfIpv4; first++) {
      this.#last[6] = first;
      yield* this.#ofEntry(entries + first, 7);
    }
  }

  *#ofIpv6(firsts: number, count: number): Generator<void> {
    for (let entry = 0; entry < count; entry++) {
      const next = entry + 1 < count ? this.#words[firsts + entry + 1]! : 0x4000_0000;
      this.#last[0] = (next - 1) >>> 16;
      this.#last[1] = next - 1;
      yield* this.#ofEntry(firsts + count + entry, 2);
    }
  }

  *#ofEntry(at: number, half: number): Generator<void> {
    const entry = this.#words[at]!;
    if (entry < flagUnit) {
      yield this.#found(entry, half);
      return;
    }
    const unit = this.#reader.locate(at);
    if (unit === 0) throw new Error('it is damaged');
    yield* this.#ofNode(unit, unit + unitHeaderWords, half);
  }

  *#ofNode(unit: number, node: number, half: number): Generator<void> {
    const starts = this.#halves[node * 2]!;
    const values = this.#halves[node * 2 + 1]! + 1;
    const begin = node * 2 + 2;
    const indexBytes = values > 256 ? 2 : 1;
    const indexes = (begin + starts) * 2;
    for (let division = 0; division <= starts; division++) {
      const end = division < starts ? this.#halves[begin + division]! - 1 : highest;
      const at = indexes + division * indexBytes;
      const index = this.#bytes[at]! | (indexBytes === 2 ? this.#bytes[at + 1]! << 8 : 0);
      const value = indexes + (starts + 1) * indexBytes + index * 3;
      const number =
        this.#bytes[value]! | (this.#bytes[value + 1]! << 8) | (this.#bytes[value + 2]! << 16);
      this.#last[half] = end;
      if (number < flagNode) yield this.#found(number, half + 1);
      else if (half < 7) yield* this.#ofNode(unit, unit + number - flagNode, half + 1);
    }
  }

  #found(number: number, half: number): void {
    this.#last.fill(highest, half);
    for (let word = 0; word < 4; word++) {
      this.last[word] = this.#last[word * 2]! * 65_536 + this.#last[word * 2 + 1]!;
    }
    this.place = this.#placeOf(number);
  }
}
