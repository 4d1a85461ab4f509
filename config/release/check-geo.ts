/**
 * Shows that the bundled table says what the packages' files do, as the library reads them: `node config/release/check-geo.ts`.
 *
 * Goes through all networks of the files and looks up the first and the last address of each. Takes some minutes.
 */
import { readFileSync } from 'node:fs';
import { Reader } from 'mmdb-lib';
import { GeoTable } from '../../src/scans/visitor/geo/geo-table.ts';
import { parsePlace, type Place } from '../../src/scans/visitor/geo/place.ts';
import { openTable } from '../../src/scans/visitor/geo/table-units.ts';
import { shipped } from '../../src/shipped.ts';
import { originalGeoFiles } from './geo-files.ts';

const families = {
  4: { first: 0n, last: 2n ** 32n - 1n, bits: 32 },
  6: { first: 1n << 125n, last: (1n << 126n) - 1n, bits: 128 },
} as const;

const groups = (address: bigint, bits: number, each: number): number[] =>
  Array.from({ length: bits / each }, (_, at) =>
    Number((address >> BigInt(bits - (at + 1) * each)) & ((1n << BigInt(each)) - 1n)),
  );

const textOf = (address: bigint, bits: number): string =>
  bits === 32
    ? groups(address, bits, 8).join('.')
    : groups(address, bits, 16)
        .map((group) => group.toString(16))
        .join(':');

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const nameOf = ({ country, city }: Place): string => `${city}, ${country}`;

const table = new GeoTable(openTable(shipped.geoTable()));
const files = originalGeoFiles();
const open = (path: string): Reader<object> => new Reader(readFileSync(path));
const countries = open(files.countryFile);

for (const [family, path] of [
  [4, files.cityFileV4],
  [6, files.cityFileV6],
] as const) {
  const { first, last, bits } = families[family];
  const cities = open(path);
  let [networks, differences] = [0, 0];
  for (let address = first; address <= last;) {
    const text = textOf(address, bits);
    let [record, prefix] = cities.getWithPrefixLength(text);
    let expected = parsePlace(record);
    if (expected.country === 'ZZ') {
      const [other, otherPrefix] = countries.getWithPrefixLength(text);
      expected = parsePlace(other);
      prefix = Math.max(prefix, otherPrefix);
    }
    const next = address + (1n << BigInt(bits - prefix));
    for (const end of [address, next - 1n]) {
      const bytes = Uint8Array.from(groups(end, bits, 8));
      const found = family === 4 ? table.ofIpv4(bytes, 0) : table.ofIpv6(bytes, 0);
      if (nameOf(found) === nameOf(expected)) continue;
      if (++differences < 10)
        print(`${textOf(end, bits)}: ${nameOf(found)}, expected ${nameOf(expected)}`);
    }
    networks++;
    address = next;
  }
  print(`IPv${family}: ${networks} networks, ${differences} differences`);
  if (differences > 0) process.exitCode = 1;
}
