/**
 * What an ELF file (executable or shared object) needs of the machine that loads it, and the same file
 * without its symbol tables. 64-bit little-endian files of x86-64 and aarch64; nothing but Node is used.
 *
 * Symbol versions: a symbol of glibc or libstdc++ is linked under the version that brought its behaviour
 * (`GLIBC_2.28`), and a loader whose library lacks that version refuses the file. The highest version of a
 * library is therefore the oldest release that the file runs on. They are read through the program headers, as
 * the loader reads them:
 *
 *   PT_DYNAMIC -> DT_NEEDED   names of the libraries
 *              -> DT_VERNEED  per library a list of versions (`.gnu.version_r`)
 *              -> DT_STRTAB   the names of both
 *
 * Symbol tables: the loader and the linker of Node's addons use `.dynsym`, which is loaded. `.symtab`, `.strtab`
 * and `.debug_*` are not loaded; they serve debuggers and profilers. Every byte of a segment keeps its offset.
 */
import type { Target } from './natives.ts';

export type Machine = 'x64' | 'arm64';

/** The libraries of the system, by the prefix that their symbol versions have. */
const systemPrefixes = {
  glibc: 'GLIBC_',
  glibcxx: 'GLIBCXX_',
  cxxabi: 'CXXABI_',
  gcc: 'GCC_',
} as const;
type System = keyof typeof systemPrefixes;
const systems: readonly System[] = ['glibc', 'glibcxx', 'cxxabi', 'gcc'];

/** Highest version that may be required: of glibc, of libstdc++ (two names) and of libgcc_s. `2.28`, `3.4.25`. */
export type Floor = Readonly<Record<System, string>>;

/** Releases of glibc that the program may be built for. */
export type Glibc = '2.28' | '2.34';

/** What a distribution of that glibc has at least: the libraries of GCC 8, and of GCC 11. */
export const floors: Readonly<Record<Glibc, Floor>> = {
  '2.28': { glibc: '2.28', glibcxx: '3.4.25', cxxabi: '1.3.11', gcc: '7.0.0' },
  '2.34': { glibc: '2.34', glibcxx: '3.4.29', cxxabi: '1.3.13', gcc: '7.0.0' },
};

export interface Needs {
  readonly machine: Machine;
  /** DT_NEEDED, in the file's order: `libc.so.6`. */
  readonly libraries: readonly string[];
  /** Library -> versions in the file's order: `libc.so.6` -> `GLIBC_2.14`, `GLIBC_2.2.5`. */
  readonly versions: ReadonlyMap<string, readonly string[]>;
}

const magic = Buffer.from('\x7fELF', 'latin1');
const fileHeaderBytes = 64;
const segmentHeaderBytes = 56;
const sectionHeaderBytes = 64;
/** Offsets in the file header. */
const headerFields = {
  type: 16,
  machine: 18,
  segmentTable: 32,
  sectionTable: 40,
  segmentCount: 56,
  sectionCount: 60,
  namesIndex: 62,
};
const machines: Readonly<Record<number, Machine>> = { 62: 'x64', 183: 'arm64' };
/** Executable, and shared object (also an executable that may lie at any address). */
const fileTypes: ReadonlySet<number> = new Set([2, 3]);
const segmentTypes = { load: 1, dynamic: 2 };
const sectionTypes = { none: 0, symbols: 2, relocations: 4, nobits: 8 };
const sectionFlags = { allocated: 0x2, infoIsSection: 0x40 };
const tags = { end: 0, needed: 1, strings: 5, versions: 0x6ffffffe, versionCount: 0x6fffffff };

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly fileBytes: number;
}

interface Section {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
  readonly info: number;
  readonly align: number;
  /** Its entry in the section header table. */
  readonly header: Buffer;
}

/**
 * @param file its name, for the text of an error
 * @throws Error if it is no ELF file of our kind, or is cut short
 */
export function readNeeds(file: string, bytes: Buffer): Needs {
  return explained(`read what ${file} needs`, () => {
    const machine = checkHeader(bytes);
    sectionHeaders(bytes);
    const segments = readSegments(bytes);
    const dynamic = segments.find(({ type }) => type === segmentTypes.dynamic);
    if (dynamic === undefined) return { machine, libraries: [], versions: new Map() };
    const entries = readDynamic(bytes, dynamic);
    const valueOf = (tag: number): number => entries.find((entry) => entry.tag === tag)?.value ?? 0;
    const strings = offsetOf(segments, valueOf(tags.strings));
    const count = valueOf(tags.versionCount);
    const first = count === 0 ? 0 : offsetOf(segments, valueOf(tags.versions));
    return {
      machine,
      libraries: entries
        .filter(({ tag }) => tag === tags.needed)
        .map(({ value }) => stringAt(bytes, strings + value)),
      versions: readVersions(bytes, { first, count, strings }),
    };
  });
}

/** @throws Error that names file, library, version and floor if the file needs a newer system than the floor */
export function assertFloor(file: string, bytes: Buffer, floor: Floor): void {
  const above = requirements(readNeeds(file, bytes)).filter(
    ({ system, number }) => compareVersions(number, floor[system]) > 0,
  );
  if (above.length === 0) return;
  const list = above.map(
    ({ library, version, system }) =>
      `${version} of ${library} (expected at most ${systemPrefixes[system]}${floor[system]})`,
  );
  throw new Error(`Cannot ship ${file}: it requires ${list.join(', ')}`);
}

/** @throws Error for a file of another processor, or one that needs a newer glibc or libstdc++ */
export function assertRuns(file: string, bytes: Buffer, target: Target, glibc: Glibc): void {
  const { machine } = readNeeds(file, bytes);
  if (`linux-${machine}` !== target) {
    throw new Error(`Cannot ship ${file}: it is for linux-${machine}, expected ${target}`);
  }
  assertFloor(file, bytes, floors[glibc]);
}

interface Requirement {
  readonly system: System;
  readonly library: string;
  /** `GLIBC_2.28` */
  readonly version: string;
  /**
   * `2.28`; `Infinity` of a version without a number: `GLIBC_PRIVATE` binds a file to one build, `GLIBC_ABI_…` to a
   * feature of 2.36 or later.
   */
  readonly number: string;
}

function requirements(needs: Needs): Requirement[] {
  return [...needs.versions].flatMap(([library, versions]) =>
    versions.flatMap((version) => {
      const system = systems.find((name) => version.startsWith(systemPrefixes[name]));
      if (system === undefined) return [];
      const name = version.slice(systemPrefixes[system].length);
      const number = /^\d+(\.\d+)*$/.test(name) ? name : 'Infinity';
      return [{ system, library, version, number }];
    }),
  );
}

/** Order of `3.4.9` and `3.4.21`: by their numbers, not their letters. */
function compareVersions(left: string, right: string): number {
  const [a, b] = [left.split('.').map(Number), right.split('.').map(Number)];
  const parts = Math.max(a.length, b.length);
  for (let part = 0; part < parts; part++) {
    const [x, y] = [a[part] ?? 0, b[part] ?? 0];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}

/**
 * The same program without `.symtab`, `.strtab` and `.debug_*`, as `strip --strip-all` makes it: segments keep their
 * bytes and offsets; the other sections that are not loaded and the section header table move up behind them.
 *
 * @throws Error if it is no ELF file of our kind, is cut short, has bytes behind its last section, or has a section
 *   that needs one of those
 */
export function withoutSymbols(bytes: Buffer): Buffer {
  return explained('drop the symbols', () => {
    checkHeader(bytes);
    const sections = readSections(bytes);
    const dropped = symbolSections(sections);
    const kept = sections.filter((section) => !dropped.has(section));
    const loadedEnd = Math.max(
      ...readSegments(bytes).map(({ offset, fileBytes }) => offset + fileBytes),
      ...sections.filter(isLoaded).map((section) => section.offset + fileBytesOf(section)),
    );
    const parts = [bytes.subarray(0, loadedEnd)];
    let end = loadedEnd;
    const append = (part: Buffer, align: number): number => {
      const offset = Math.ceil(end / align) * align;
      parts.push(Buffer.alloc(offset - end), part);
      end = offset + part.length;
      return offset;
    };
    const headers = kept.map((section) => {
      const header = Buffer.from(section.header);
      header.writeUInt32LE(newIndex(sections, kept, section.link), 40);
      if (isInfoIndex(section)) header.writeUInt32LE(newIndex(sections, kept, section.info), 44);
      if (isLoaded(section) || section.type === sectionTypes.none) return header;
      const content = bytes.subarray(section.offset, section.offset + fileBytesOf(section));
      header.writeBigUInt64LE(BigInt(append(content, Math.max(1, section.align))), 24);
      return header;
    });
    const table = append(Buffer.concat(headers), 8);
    const result = Buffer.concat(parts);
    result.writeBigUInt64LE(BigInt(table), headerFields.sectionTable);
    result.writeUInt16LE(kept.length, headerFields.sectionCount);
    const names = newIndex(sections, kept, bytes.readUInt16LE(headerFields.namesIndex));
    result.writeUInt16LE(names, headerFields.namesIndex);
    return result;
  });
}

const isLoaded = ({ flags }: Section): boolean => (flags & sectionFlags.allocated) !== 0;
const fileBytesOf = ({ type, size }: Section): number => (type === sectionTypes.nobits ? 0 : size);
const isInfoIndex = ({ flags, type }: Section): boolean =>
  (flags & sectionFlags.infoIsSection) !== 0 || type === sectionTypes.relocations;

/** `.dynsym` names sections by their indexes, so only sections behind the last loaded one may go. */
function symbolSections(sections: readonly Section[]): ReadonlySet<Section> {
  const dropped = new Set<Section>();
  for (const section of sections.filter((candidate) => !isLoaded(candidate))) {
    if (section.name.startsWith('.debug_')) dropped.add(section);
    if (section.type !== sectionTypes.symbols) continue;
    dropped.add(section);
    const strings = sections[section.link];
    if (strings !== undefined && strings.name !== '.shstrtab') dropped.add(strings);
  }
  const lastLoaded = sections.findLastIndex(isLoaded);
  const early = sections.slice(0, lastLoaded).find((section) => dropped.has(section));
  if (early !== undefined) throw new Error(`${early.name} stands before a loaded section`);
  return dropped;
}

function newIndex(sections: readonly Section[], kept: readonly Section[], old: number): number {
  const section = sections[old];
  const index = section === undefined ? -1 : kept.indexOf(section);
  if (index === -1) throw new Error(`a section needs ${section?.name ?? `section ${old}`}`);
  return index;
}

function checkHeader(bytes: Buffer): Machine {
  const isElf = bytes.length >= fileHeaderBytes && bytes.subarray(0, 4).equals(magic);
  if (!isElf) throw new Error('it is no ELF file');
  if (bytes[4] !== 2 || bytes[5] !== 1) throw new Error('expected 64 bits, little-endian');
  const type = bytes.readUInt16LE(headerFields.type);
  if (!fileTypes.has(type)) throw new Error('expected an executable or a shared object');
  const machine = machines[bytes.readUInt16LE(headerFields.machine)];
  if (machine === undefined) throw new Error('expected a file for x86-64 or aarch64');
  return machine;
}

function readSegments(bytes: Buffer): Segment[] {
  const table = longAt(bytes, headerFields.segmentTable);
  const count = bytes.readUInt16LE(headerFields.segmentCount);
  return Array.from({ length: count }, (_, index) => {
    const header = cut(bytes, table + index * segmentHeaderBytes, segmentHeaderBytes);
    const segment = {
      type: header.readUInt32LE(0),
      offset: longAt(header, 8),
      address: longAt(header, 16),
      fileBytes: longAt(header, 32),
    };
    cut(bytes, segment.offset, segment.fileBytes);
    return segment;
  });
}

/** Linkers write this table last: a file that has it whole is not cut short. */
function sectionHeaders(bytes: Buffer): Buffer[] {
  const table = longAt(bytes, headerFields.sectionTable);
  const count = bytes.readUInt16LE(headerFields.sectionCount);
  return Array.from({ length: count }, (_, index) =>
    cut(bytes, table + index * sectionHeaderBytes, sectionHeaderBytes),
  );
}

/** Refuses bytes behind the last section: they are appended data, and would be lost. */
function readSections(bytes: Buffer): Section[] {
  const headers = sectionHeaders(bytes);
  const namesHeader = headers[bytes.readUInt16LE(headerFields.namesIndex)];
  if (namesHeader === undefined) throw new Error('it has no section headers');
  const names = longAt(namesHeader, 24);
  const sections = headers.map((header) => ({
    name: stringAt(bytes, names + header.readUInt32LE(0)),
    type: header.readUInt32LE(4),
    flags: longAt(header, 8),
    offset: longAt(header, 24),
    size: longAt(header, 32),
    link: header.readUInt32LE(40),
    info: header.readUInt32LE(44),
    align: longAt(header, 48),
    header,
  }));
  for (const section of sections) cut(bytes, section.offset, fileBytesOf(section));
  const end = Math.max(
    longAt(bytes, headerFields.sectionTable) + headers.length * sectionHeaderBytes,
    ...sections.map((section) => section.offset + fileBytesOf(section)),
  );
  if (end !== bytes.length) throw new Error(`${bytes.length - end} bytes follow its last section`);
  return sections;
}

interface DynamicEntry {
  readonly tag: number;
  readonly value: number;
}

function readDynamic(bytes: Buffer, segment: Segment): DynamicEntry[] {
  const entries: DynamicEntry[] = [];
  for (let at = 0; at + 16 <= segment.fileBytes; at += 16) {
    const tag = longAt(bytes, segment.offset + at);
    if (tag === tags.end) break;
    entries.push({ tag, value: longAt(bytes, segment.offset + at + 8) });
  }
  return entries;
}

/** Two linked lists of records that name the next by its distance: libraries, and the versions of each. */
function readVersions(
  bytes: Buffer,
  at: { readonly first: number; readonly count: number; readonly strings: number },
): Map<string, readonly string[]> {
  const versions = new Map<string, readonly string[]>();
  let library = at.first;
  for (let left = at.count; left > 0; left--) {
    const need = cut(bytes, library, 16);
    const names: string[] = [];
    let version = library + need.readUInt32LE(8);
    for (let more = need.readUInt16LE(2); more > 0; more--) {
      const record = cut(bytes, version, 16);
      names.push(stringAt(bytes, at.strings + record.readUInt32LE(8)));
      version += record.readUInt32LE(12);
    }
    versions.set(stringAt(bytes, at.strings + need.readUInt32LE(4)), names);
    library += need.readUInt32LE(12);
  }
  return versions;
}

/** Where in the file the byte is that the loader puts at an address. */
function offsetOf(segments: readonly Segment[], address: number): number {
  const segment = segments.find(
    (candidate) =>
      candidate.type === segmentTypes.load &&
      address >= candidate.address &&
      address < candidate.address + candidate.fileBytes,
  );
  if (segment === undefined) throw new Error(`no segment holds address 0x${address.toString(16)}`);
  return segment.offset + address - segment.address;
}

function cut(bytes: Buffer, offset: number, length: number): Buffer {
  const end = offset + length;
  if (end > bytes.length) throw new Error(`it is cut short: ${bytes.length} bytes of ${end}`);
  return bytes.subarray(offset, end);
}

function stringAt(bytes: Buffer, offset: number): string {
  const end = bytes.indexOf(0, offset);
  if (end === -1) throw new Error('it is cut short inside a name');
  return bytes.toString('utf8', offset, end);
}

/** Eight bytes; tags, flags and addresses beyond 2^53 lose their low bits, and no such value is used. */
const longAt = (bytes: Buffer, offset: number): number => Number(bytes.readBigUInt64LE(offset));

function explained<T>(action: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot ${action}: ${reason}`, { cause: error });
  }
}
