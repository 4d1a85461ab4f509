/**
 * A filter as tables of what the bytes of an entry may be: a look-up for each, whatever it asks. A word that no number
 * has matches nothing.
 */
import { browserNames, countryNumber, deviceNames, osNames } from '../../../model/scan.ts';
import { refererHost, routeOf } from '../../block.ts';
import type { ScanFilter } from '../filter.ts';
import type { BlockReader } from './block-reader.ts';
import { StringValues } from './string-values.ts';

const anyCountry = -1;

export class EntryFilter {
  readonly #reader: BlockReader;
  /** 1 = matches; by device and platform, by system, by browser, by where it led. */
  readonly shapes: Uint8Array;
  readonly systems: Uint8Array;
  readonly browsers: Uint8Array;
  readonly outcomes: Uint8Array;
  /** Whether it asks for a country, a city or a referer. */
  readonly hasPlaces: boolean;
  readonly #country: number;
  /** Absent = all match. */
  readonly #city: Buffer | undefined;
  /** Its number in the block with this `opened`. */
  #cityNumber = 0;
  #cityOpened = 0;
  /** 1 = matches; absent = all do. */
  readonly #referers: StringValues | undefined;

  constructor(filter: ScanFilter, reader: BlockReader) {
    this.#reader = reader;
    const { country, city, device, os, browser, referer, routes } = filter;
    this.shapes = matching((byte) => isNamed(deviceNames, byte & 0xf, device));
    this.systems = matching((byte) => isNamed(osNames, byte, os));
    this.browsers = matching((byte) => isNamed(browserNames, byte, browser));
    this.outcomes = matching((byte) => routes === undefined || routes.includes(routeOf(byte)));
    this.hasPlaces = country !== undefined || city !== undefined || referer !== undefined;
    this.#country = country === undefined ? anyCountry : countryNumber(country);
    this.#city = city === undefined ? undefined : Buffer.from(city);
    this.#referers =
      referer === undefined
        ? undefined
        : new StringValues(reader, (text) => Number(refererHost(text) === referer));
  }

  /** Whether an entry of the open block has the country, the city and the referer. */
  isPlaced(view: DataView, at: number): boolean {
    const country = this.#country;
    if (country !== anyCountry && country !== view.getUint16(at + 26, true)) return false;
    const city = this.#city;
    if (city !== undefined && this.#numberOf(city) !== view.getUint32(at + 28, true)) return false;
    return this.#referers?.of(view.getUint32(at + 32, true)) !== 0;
  }

  #numberOf(city: Buffer): number {
    const { opened } = this.#reader;
    if (this.#cityOpened !== opened) {
      this.#cityOpened = opened;
      this.#cityNumber = city.length === 0 ? 0 : this.#reader.numberOf(city);
    }
    return this.#cityNumber;
  }
}

const matching = (isMatch: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(isMatch(byte)));

/** As breakdowns name it (query/answers.ts). */
const isNamed = (names: readonly string[], number: number, wanted: string | undefined): boolean =>
  wanted === undefined || (names[number] ?? 'other') === wanted;
