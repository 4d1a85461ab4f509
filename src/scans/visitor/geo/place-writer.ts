/** Gives places their numbers, and puts them into units (table-layout.ts) as they come. */
import { countryNumber } from '../../../model/scan.ts';
import { bytesOf, Numbers, type UnitSink } from './network-writer.ts';
import { nowhere, parsePlace, Place } from './place.ts';
import { flagCountries, placesPerUnit, unitHeaderWords, valuesMax } from './table-layout.ts';

export class PlaceWriter {
  readonly #sink: UnitSink;
  readonly #numbers = new Map<string, number>();
  /** Offset of each unit. */
  readonly units = new Numbers();
  #unit: Array<{ readonly country: number; readonly city: Buffer }> = [];
  count = 0;

  constructor(sink: UnitSink) {
    this.#sink = sink;
    this.#number(nowhere, 0);
  }

  /** Of a record in a file of cities: without its country it is nowhere, and the file of countries is asked. */
  ofCities(record: unknown): number {
    const place = record instanceof Place ? record : parsePlace(record);
    return place.country === nowhere.country ? 0 : this.#number(place, 0);
  }

  /** Of a record in the file of countries. */
  ofCountries(record: unknown): number {
    const place = record instanceof Place ? record : parsePlace(record);
    const isNowhere = place.country === nowhere.country && place.city === '';
    return isNowhere ? 0 : this.#number(place, flagCountries);
  }

  end(): void {
    if (this.#unit.length > 0) this.#endUnit();
  }

  #number({ country, city }: Place, flag: number): number {
    const value = countryNumber(country) | flag;
    const key = city + String(value);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.count === valuesMax) throw new Error('it has too many places');
    const number = this.count++;
    this.#numbers.set(key, number);
    this.#unit.push({ country: value, city: Buffer.from(city) });
    if (this.#unit.length === placesPerUnit) this.#endUnit();
    return number;
  }

  #endUnit(): void {
    const places = this.#unit;
    const headBytes = unitHeaderWords * 4 + places.length * 4;
    const nameBytes = places.reduce((sum, { city }) => sum + city.length, 0);
    const words = new Uint32Array(Math.ceil((headBytes + nameBytes) / 4));
    const bytes = Buffer.from(bytesOf(words).buffer);
    let end = 0;
    for (const [index, { country, city }] of places.entries()) {
      const at = unitHeaderWords * 4 + index * 2;
      bytes.set(city, headBytes + end);
      end += city.length;
      bytes.writeUInt16LE(country, at);
      bytes.writeUInt16LE(end, at + places.length * 2);
    }
    this.units.push(this.#sink.appendUnit(words));
    this.#unit = [];
  }
}
