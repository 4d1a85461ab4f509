/**
 * The file of places: countries and cities of all networks, made of three mmdb files (config/release/geo-table.ts) and read
 * where a look-up needs it (table-units.ts). All numbers are little-endian; offsets count words of 4 bytes.
 *
 *     | header, 16 words | units: networks, then places | networks of IPv4 | of IPv6: firsts, entries | units of places | CRC |
 *
 *     header     0-1 magic, 2 version, 3 words of the file, 4 places, 5 directory, 6 entries of IPv6, 7 units of places,
 *                8 when the oldest mmdb file was built, in seconds since the Unix epoch, 9 key of what made the table
 *     directory  what is read when the table is opened, 1.3 MB with the bundled data, up to its CRC-32, the file's last word
 *                which also covers the header:
 *                IPv4: an entry for each of the 65,536 numbers that an address begins with (16 bits)
 *                IPv6: the first 32 bits of addresses, ascending from 2000::; then an entry for each, for all up to the next
 *     entry      the number of a place, or `flagUnit` + the offset of a unit that divides these addresses further
 *
 *     unit       0 its words   1 CRC-32 of what follows   2 …
 *     networks   a node for the next 16 bits of the address, and behind it those for 16 bits more, at most down to /128:
 *                | starts - 1 | values - 1 | starts but the first, which is 0 | index of each one's value | values |
 *                     u16          u16        u16, ascending                    u8, u16 above 256 values     u24
 *                value: the number of a place, or `flagNode` + the node's offset from its unit
 *     places     64 of them, the last unit fewer: | countries, u16 | ends of names, u16 | names, UTF-8 |
 *                country: two letters. Place 0 is nowhere
 *
 * Neighbours with one place are one network. The bundled data takes 37 MB, 5 bytes for each of 7.2 million networks.
 */

export const magic = [0x65475a51, 0x0a0d006f] as const;
export const tableVersion = 1;

export const headerWords = 16;
export const unitHeaderWords = 2;

export const flagUnit = 0x8000_0000;
/** In memory only (table-units.ts): the unit of an entry, or of an offset in the directory, was read. */
export const flagRead = 0x4000_0000;
export const offsetMask = flagRead - 1;
export const flagNode = 0x80_0000;
/** Bound of places, and of the words of a unit. */
export const valuesMax = flagNode - 1;

export const firstsOfIpv4 = 65_536;
export const placesPerUnit = 64;
/** Larger tables are refused: the bundled one has 37 MB. */
const tableBytesMax = 512 * 2 ** 20;

export interface Header {
  readonly words: number;
  readonly places: number;
  /** Offset of the networks of IPv4. */
  readonly directory: number;
  readonly ipv6Entries: number;
  readonly placeUnits: number;
  /** Since the Unix epoch. */
  readonly builtSeconds: number;
  readonly key: number;
}

/** Words of the directory with its CRC-32. */
export const directoryWords = (header: Pick<Header, 'ipv6Entries' | 'placeUnits'>): number =>
  firstsOfIpv4 + header.ipv6Entries * 2 + header.placeUnits + 1;

/** @param bytes of the file @throws Error that describes what is wrong with it */
export function decodeHeader(found: Uint32Array, bytes: number): Header {
  if (found[0] !== magic[0] || found[1] !== magic[1])
    throw new Error('it is not a table of places');
  if (found[2] !== tableVersion)
    throw new Error(`its version is ${found[2]}, expected ${tableVersion}`);
  const header: Header = {
    words: found[3]!,
    places: found[4]!,
    directory: found[5]!,
    ipv6Entries: found[6]!,
    placeUnits: found[7]!,
    builtSeconds: found[8]!,
    key: found[9]!,
  };
  const { words, places, directory, placeUnits } = header;
  if (words * 4 !== bytes) throw new Error(`it has ${bytes} bytes, expected ${words * 4}`);
  const isWhole =
    bytes <= tableBytesMax &&
    directory >= headerWords &&
    directory + directoryWords(header) === words &&
    placeUnits === Math.ceil(places / placesPerUnit);
  if (!isWhole) throw new Error('its header is damaged');
  return header;
}
