/**
 * Walks the trees of a data file before LMDB maps it: LMDB trusts page numbers, and a wrong one ends the process.
 *
 *   meta pages -> free list -> `tables` -> each table, from its root, in key order
 *
 * Checks: each page has its number and kind, and belongs to one tree or to the free list; each entry lies within its
 * page; each tree has its recorded numbers of pages and entries; keys ascend. Record checksums find damaged values.
 *
 * The walk reads the newest transaction. A later one may overwrite its pages: then a fault proves nothing. While a
 * service writes, `walkSnapshot` makes LMDB preserve the pages.
 *
 * Not a fault: a page that nothing claims (lmdb-js leaks one now and then), and a file that ends before its last page, if no
 * tree needs the missing pages. Memory: a byte a page.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { StoreEnvironment } from '../environment.ts';
import {
  headerBytes,
  integerKeys,
  kindOf,
  type Meta,
  type MetaChoice,
  nodeBytes,
  nodeFlags,
  noPage,
  overflowBytes,
  pageKinds,
  readMeta,
  readTree,
  readU16,
  readU32,
  readU64,
  treeBytes,
  treeFlagsKnown,
  type TreeRecord,
} from './format.ts';

/** LMDB's cursors cannot walk deeper trees. */
const depthMax = 32;
/** The limit of lmdb-js, which reads keys into a buffer of 4 KiB. */
const keyBytesMax = 1_978;
const progressPages = 1_024;

export interface WalkOptions {
  readonly choice?: MetaChoice;
  /** Whether to read a table's leaves or its branch pages alone; default: all leaves. */
  readonly readsLeaves?: (table: string, leafPages: number) => boolean;
  /** Called every few megabytes, and after each table. */
  readonly onProgress?: (bytesRead: number) => void;
}

export interface DataFileFault {
  readonly file: string;
  /** `page 17 (table days) is damaged` */
  readonly text: string;
}

interface DataFileReport {
  readonly fault: DataFileFault | undefined;
  /** No writer has committed meanwhile, so the fault is not a reused page. */
  readonly isStable: boolean;
  readonly entries: number;
}

class PageFault extends Error {
  override readonly name = 'PageFault';

  constructor(page: number, tree: string, text = 'is damaged') {
    super(`page ${page} (${tree}) ${text}`);
  }
}

export function walkDataFile(path: string, options: WalkOptions = {}): DataFileReport {
  const meta = readMeta(path, options.choice);
  let entries = 0;
  let fault: DataFileFault | undefined;
  try {
    if (meta === undefined) throw new PageFault(0, 'meta pages');
    entries = new Walk(path, meta, options).run();
  } catch (error) {
    if (!(error instanceof PageFault)) throw error;
    fault = { file: path, text: error.message };
  }
  const isStable = readMeta(path, options.choice)?.transaction === meta?.transaction;
  return { fault, isStable, entries };
}

/** The same while others write: checks the meta pages, then lets LMDB hold a snapshot. @throws Error of the system */
export function walkSnapshot(path: string, options: WalkOptions = {}): DataFileReport {
  if (readMeta(path) === undefined) return walkDataFile(path, options);
  const environment = new StoreEnvironment(path, 'read');
  const release = environment.holdSnapshot();
  try {
    return walkDataFile(path, { ...options, choice: 'newest' });
  } finally {
    release();
    void environment.close();
  }
}

interface Tree {
  readonly name: string;
  readonly record: TreeRecord;
  readonly readsLeaves: boolean;
  readonly onEntry?: (entry: Entry) => void;
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly flags: number;
  readonly page: number;
}

interface Node {
  readonly bytes: Buffer;
  readonly at: number;
}

class Walk {
  readonly #meta: Meta;
  readonly #options: WalkOptions;
  readonly #file: number;
  /** One byte for each page of the file: 1 = a tree or the free list has it. */
  readonly #claimed: Uint8Array;
  /** The current page of each level: its keys bound those of the pages below it. */
  readonly #levels: Buffer[] = [];
  #pagesRead = 0;
  #found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };

  constructor(path: string, meta: Meta, options: WalkOptions) {
    this.#meta = meta;
    this.#options = options;
    this.#file = openSync(path, 'r');
    this.#claimed = new Uint8Array(fstatSync(this.#file).size / meta.pageBytes);
  }

  /** @returns the entries of all tables @throws PageFault */
  run(): number {
    const { freeList, tables } = this.#meta;
    const records = new Map<string, TreeRecord>();
    const onTable = ({ key, value, flags, page }: Entry): void => {
      if (flags !== nodeFlags.tree) return;
      const record = value.length === treeBytes ? readTree(value, 0) : undefined;
      if (record === undefined || (record.flags & ~treeFlagsKnown) !== 0) {
        throw new PageFault(page, 'tables');
      }
      records.set(key.toString('utf8').replace(/[^ -~]/g, ''), record);
    };
    try {
      const onEntry = (entry: Entry): void => this.#claimFree(entry);
      this.#walk({ name: 'free list', record: freeList, readsLeaves: true, onEntry });
      this.#walk({ name: 'tables', record: tables, readsLeaves: true, onEntry: onTable });
      for (const [table, record] of records) {
        const readsLeaves = this.#options.readsLeaves?.(table, record.leafPages) ?? true;
        this.#walk({ name: `table ${table}`, record, readsLeaves });
      }
    } finally {
      closeSync(this.#file);
    }
    return [...records.values()].reduce((sum, { entries }) => sum + entries, 0);
  }

  #walk(tree: Tree): void {
    const { name, record, readsLeaves } = tree;
    const { root, depth } = record;
    this.#found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    const isEmpty = root === noPage;
    if (!isEmpty && depth > depthMax) throw new PageFault(root, name);
    if (!isEmpty) this.#visit(tree, root, 1);
    const { branchPages, leafPages, overflowPages, entries } = this.#found;
    const isWhole =
      branchPages === record.branchPages &&
      leafPages === record.leafPages &&
      (!readsLeaves || (overflowPages === record.overflowPages && entries === record.entries));
    if (!isWhole) throw new PageFault(isEmpty ? 0 : root, name);
    this.#options.onProgress?.(this.#pagesRead * this.#meta.pageBytes);
  }

  /** @param low its key is at most every key of the page @param high its key is above every key of the page */
  #visit(tree: Tree, page: number, level: number, low?: Node, high?: Node): void {
    const isLeaf = level === tree.record.depth;
    this.#claim(page, 1, tree.name);
    this.#found[isLeaf ? 'leafPages' : 'branchPages']++;
    if (isLeaf && !tree.readsLeaves) return;
    const bytes = (this.#levels[level] ??= Buffer.alloc(this.#meta.pageBytes));
    this.#read(bytes, page);
    const isSound =
      this.#isPage(bytes, page, isLeaf ? pageKinds.leaf : pageKinds.branch) &&
      hasNodes(tree, bytes, isLeaf, low, high);
    if (!isSound) throw new PageFault(page, tree.name);
    const count = readU16(bytes, 20) / 2;
    if (isLeaf) this.#found.entries += count;
    for (let index = 0; index < count; index++) {
      const at = nodeAt(bytes, index);
      if (isLeaf) this.#readEntry(tree, bytes, at, page);
      else {
        const from = index === 0 ? low : { bytes, at };
        const to = index === count - 1 ? high : { bytes, at: nodeAt(bytes, index + 1) };
        const child = readU32(bytes, at) + readU16(bytes, at + 4) * 2 ** 32;
        this.#visit(tree, child, level + 1, from, to);
      }
    }
  }

  /** LMDB would write into a page that is newer than the whole file. */
  #isPage(bytes: Buffer, page: number, kind: number): boolean {
    const isOlder = readU64(bytes, 8) <= this.#meta.transaction;
    return readU64(bytes, 0) === page && isOlder && kindOf(bytes) === kind;
  }

  #readEntry({ name, onEntry }: Tree, bytes: Buffer, at: number, page: number): void {
    const flags = readU16(bytes, at + 4);
    const valueBytes = readU32(bytes, at);
    const from = at + nodeBytes + readU16(bytes, at + 6);
    let value: Buffer | undefined;
    if (flags === nodeFlags.overflow) {
      const [first, pages] = [readU64(bytes, from), readU64(bytes, from + 16)];
      // A smaller value keeps the pages of the larger one that it replaced.
      if (pages * bytes.length < headerBytes + valueBytes) throw new PageFault(page, name);
      this.#claim(first, pages, name);
      this.#found.overflowPages += pages;
      const run = Buffer.alloc(headerBytes + (onEntry === undefined ? 0 : valueBytes));
      this.#read(run, first);
      // LMDB frees the number of pages in the first one.
      const isRun = this.#isPage(run, first, pageKinds.overflow) && readU32(run, 20) === pages;
      if (!isRun) throw new PageFault(first, name);
      value = run.subarray(headerBytes);
    }
    if (onEntry === undefined) return;
    value ??= bytes.subarray(from, from + valueBytes);
    onEntry({ key: bytes.subarray(at + nodeBytes, from), value, flags, page });
  }

  /** @throws PageFault if the pages are not in the file, or one is claimed already */
  #claim(page: number, pages: number, tree: string): void {
    const end = page + pages;
    if (end - 1 > this.#meta.lastPage || end > this.#claimed.length) {
      throw new PageFault(page, tree, 'is beyond the end of the file');
    }
    if (page < 2 || pages < 1) throw new PageFault(page, tree);
    for (let at = page; at < end; at++) {
      if (this.#claimed[at] !== 0) throw new PageFault(at, tree);
      this.#claimed[at] = 1;
    }
  }

  /** A value is | count u64 | numbers i64 |. 0 is empty; -n begins a run of n pages, even beyond the file's end. */
  #claimFree({ value, page }: Entry): void {
    const tree = 'free list';
    const count = value.length < 8 ? Number.NaN : readU64(value, 0);
    if (!(count <= value.length / 8 - 1)) throw new PageFault(page, tree);
    for (let at = 8; at <= count * 8; at += 8) {
      let pages = 1;
      if (value[at + 7]! >= 0x80 && at < count * 8) {
        pages = 2 ** 32 - readU32(value, at);
        at += 8;
      }
      const first = readU64(value, at);
      if (first === 0 && pages === 1) continue;
      if (first + pages - 1 > this.#meta.lastPage) throw new PageFault(page, tree);
      const written = Math.min(pages, this.#claimed.length - first);
      if (written > 0) this.#claim(first, written, tree);
    }
  }

  /** Bytes that the file has lost since it was opened read as zeros, which no page has. */
  #read(target: Buffer, page: number): void {
    const { pageBytes } = this.#meta;
    target.fill(0, readSync(this.#file, target, 0, target.length, page * pageBytes));
    if (++this.#pagesRead % progressPages === 0) {
      this.#options.onProgress?.(this.#pagesRead * pageBytes);
    }
  }
}

/** Whether each node lies within its page, where LMDB looks for it, and the keys ascend within the bounds. */
function hasNodes({ name, record }: Tree, bytes: Buffer, isLeaf: boolean, low?: Node, high?: Node) {
  const [lower, upper] = [readU16(bytes, 20), readU16(bytes, 22)];
  const bodyBytes = bytes.length - headerBytes;
  const count = lower / 2;
  // The first key of a branch covers all keys below the second.
  const first = isLeaf ? 0 : 1;
  if (lower % 2 !== 0 || lower > upper || upper > bodyBytes || count <= first) return false;
  const isInteger = (record.flags & integerKeys) !== 0;
  let used = 0;
  let before = low;
  for (let index = 0; index < count; index++) {
    const at = nodeAt(bytes, index);
    const offset = at - headerBytes;
    if (offset % 2 !== 0 || offset < upper || offset + nodeBytes > bodyBytes) return false;
    const size = nodeSize(bytes, at, isLeaf, name === 'tables');
    if (!(offset + size <= bodyBytes)) return false;
    used += size + (size % 2);
    if (index < first) continue;
    const node = { bytes, at };
    const order = before === undefined ? -1 : compareKeys(before, node, isInteger);
    if (!(order < 0 || (order === 0 && index === first))) return false;
    before = node;
  }
  const isBelow = high === undefined || compareKeys(before!, high, isInteger) < 0;
  // LMDB moves nodes by the sum of their sizes.
  return isBelow && used === bodyBytes - upper;
}

const nodeAt = (page: Buffer, index: number): number =>
  headerBytes + readU16(page, headerBytes + 2 * index);

/** Bytes of a node; NaN for one that LMDB does not write. */
function nodeSize(bytes: Buffer, at: number, isLeaf: boolean, hasTrees: boolean): number {
  const keyBytes = readU16(bytes, at + 6);
  if (keyBytes > keyBytesMax) return Number.NaN;
  if (!isLeaf) return nodeBytes + keyBytes;
  const flags = readU16(bytes, at + 4);
  if (flags === nodeFlags.overflow) return nodeBytes + keyBytes + overflowBytes;
  const isKnown = flags === 0 || (flags === nodeFlags.tree && hasTrees);
  return isKnown ? nodeBytes + keyBytes + readU32(bytes, at) : Number.NaN;
}

/** Compares keys as LMDB does; NaN for integers of another length. */
function compareKeys(one: Node, other: Node, isInteger: boolean): number {
  const [oneKey, otherKey] = [keyOf(one), keyOf(other)];
  return isInteger ? integerOf(oneKey) - integerOf(otherKey) : oneKey.compare(otherKey);
}

const keyOf = ({ bytes, at }: Node): Buffer =>
  bytes.subarray(at + nodeBytes, at + nodeBytes + readU16(bytes, at + 6));

const integerOf = (key: Buffer): number =>
  key.length === 4 ? readU32(key, 0) : key.length === 8 ? readU64(key, 0) : Number.NaN;
