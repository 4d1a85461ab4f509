/**
 * Opens the geo data: the bundled table, and an operator's own mmdb files, each read once into shared memory. An unusable
 * file costs its places and a warning, never the start.
 */
import { closeSync, openSync, statSync } from 'node:fs';
import { Reader } from 'mmdb-lib';
import { dayOf, formatDay } from '../../../model/day.ts';
import { messageOf } from '../../../model/failure.ts';
import { type FilePart, shipped } from '../../../platform/shipped.ts';
import { type GeoData, type GeoName, isTable } from './geo.ts';
import { closeTable, openTable, type OpenTable, readFully } from './table-units.ts';

/** Paths of mmdb files: `bundled` = the shipped table, empty = none. */
export type GeoFiles = Readonly<Record<GeoName, string>>;

const bundled = 'bundled';
/** Files of cities have 60 to 150 MB. */
const fileBytesMax = 2 ** 30;
/** Zero bytes after the search tree of an mmdb file. */
const separatorBytes = 16;

interface Source {
  readonly data: OpenTable | SharedArrayBuffer;
  readonly date: string;
}

export interface OpenGeo {
  readonly data: GeoData;
  readonly warnings: readonly string[];
  /** Build day of the oldest file in use, `2026-06-05`; undefined = no files. */
  readonly date: string | undefined;
  /** Call when no thread uses the data any more. */
  readonly close: () => void;
}

/** @param check of the bundled table's file, before it is opened; throws */
export function openGeo(files: GeoFiles, check?: (table: FilePart) => unknown): OpenGeo {
  const opened = new Map<string, Source>();
  const data: Partial<Record<GeoName, Source['data']>> = {};
  const warnings = new Set<string>();
  for (const name of ['countryFile', 'cityFileV4', 'cityFileV6'] as const) {
    const path = files[name];
    if (path === '') continue;
    try {
      const source = opened.get(path) ?? (path === bundled ? openBundled(check) : openFile(path));
      opened.set(path, source);
      data[name] = source.data;
    } catch (error) {
      warnings.add(unusable(name, path, error));
    }
  }
  const [date] = [...opened.values()].map((source) => source.date).toSorted();
  const close = (): void => {
    const table = opened.get(bundled)?.data;
    if (isTable(table)) closeTable(table);
  };
  return { data, warnings: [...warnings], date, close };
}

function unusable(name: GeoName, path: string, error: unknown): string {
  const reason = messageOf(error).split('\n', 1)[0];
  return path === bundled
    ? `Cannot use the bundled table of places: ${reason}; install Quietzone again`
    : `Cannot use geo.${name} ${path}: ${reason}; places it would name are unknown`;
}

function openBundled(check: ((table: FilePart) => unknown) | undefined): Source {
  check?.(shipped.geoTable());
  const table = openTable(shipped.geoTable());
  return { data: table, date: formatDay(dayOf(table.header.builtSeconds * 1_000)) };
}

/** @throws Error of the system, or saying what is wrong with the file */
function openFile(path: string): Source {
  const file = statSync(path);
  const { size } = file;
  // Opening a pipe would block.
  if (!file.isFile()) throw new Error('it is not a file');
  if (size > fileBytesMax)
    throw new Error(`it has ${size} bytes, expected at most ${fileBytesMax}`);
  const data = new SharedArrayBuffer(size);
  const descriptor = openSync(path, 'r');
  try {
    readFully(descriptor, new Uint8Array(data), 0);
  } finally {
    closeSync(descriptor);
  }
  const { searchTreeSize, buildEpoch } = metadataOf(Buffer.from(data));
  if (!(searchTreeSize + separatorBytes <= size)) {
    throw new Error(`its search tree takes ${searchTreeSize} of ${size} bytes`);
  }
  return { data, date: formatDay(dayOf(buildEpoch.getTime())) };
}

function metadataOf(bytes: Buffer): Reader<object>['metadata'] {
  try {
    return new Reader(bytes).metadata;
  } catch (error) {
    throw new Error('it is not an mmdb file', { cause: error });
  }
}
