/**
 * The file of places: countries and cities of all networks, merged of up to three mmdb files (table-maker.ts) and read
 * where a look-up needs it (table-units.ts). All numbers are little-endian; offsets count words of 4 bytes.
 *
 *     | header, 16 words | units: networks, then places | networks of IPv4 | of IPv6: firsts, entries | units of places | CRC |
 *
 *     header     0-1 magic, 2 version, 3 words of the file, 4 places, 5 flags, 6 directory, 7 entries of IPv6, 8 units of places
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
 *                country: two letters; `flagCountries` is added where the file of countries knew it. Place 0 is nowhere
 *
 * A /48 that is divided costs a node; neighbours with one place are one network. The bundled data takes 37 MB so, 5 bytes
 * for each of 7.2 million networks: 3 where they are dense, IPv6 more.
 */

export const magic = [0x65475a51, 0x0a0d006f] as const;
export const tableVersion = 1;

export const headerWords = 16;
export const unitHeaderWords = 2;

export const flagUnit = 0x8000_0000;
/** In memory alone (table-units.ts): of an entry or an offset in the directory, whose unit was read. */
export const flagRead = 0x4000_0000;
export const offsetMask = flagRead - 1;
export const flagNode = 0x80_0000;
/** Of places, and of the words of a unit. */
export const valuesMax = flagNode - 1;
export const flagCountries = 0x8000;

export const firstsOfIpv4 = 65_536;
export const placesPerUnit = 64;
/** Above it a file of networks is refused: the bundled data has 37 MB. */
export const tableBytesMax = 512 * 2 ** 20;

/** 2002::/16 holds an IPv4 address in each: those are looked up. So does the next. */
export const flagSixToFour = 1;
/** 2001::/32. */
export const flagTeredo = 2;

export interface Header {
  readonly words: number;
  readonly places: number;
  readonly flags: number;
  /** Offset of the networks of IPv4. */
  readonly directory: number;
  readonly ipv6Entries: number;
  readonly placeUnits: number;
}

export function encodeHeader(header: Header): Uint32Array {
  const words = new Uint32Array(headerWords);
  words.set([...magic, tableVersion, header.words, header.places, header.flags, header.directory]);
  words.set([header.ipv6Entries, header.placeUnits], 7);
  return words;
}

/** Words of the directory, its CRC-32 with them. */
export const directoryWords = ({ ipv6Entries, placeUnits }: Omit<Header, 'words'>): number =>
  firstsOfIpv4 + ipv6Entries * 2 + placeUnits + 1;

/**
 * @param bytes of the file
 * @throws Error saying what is wrong with the file
 */
export function decodeHeader(found: Uint32Array, bytes: number): Header {
  if (found[0] !== magic[0] || found[1] !== magic[1]) throw new Error('it is no table of places');
  if (found[2] !== tableVersion)
    throw new Error(`its version is ${found[2]}, expected ${tableVersion}`);
  const header: Header = {
    words: found[3]!,
    places: found[4]!,
    flags: found[5]!,
    directory: found[6]!,
    ipv6Entries: found[7]!,
    placeUnits: found[8]!,
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
