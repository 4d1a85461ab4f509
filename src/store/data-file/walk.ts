/**
 * Walks the trees of a data file: whether LMDB can read all of it without meeting a page that is not there, not the
 * one that it looks for, or not laid out as one.
 *
 *   meta pages -> free list -> `tables` -> each table
 *
 * The snapshot is the newest transaction. A later one may write over its pages: where one came meanwhile, faults
 * say nothing, and the walk begins again. Beside a service that writes all the time, a read transaction of LMDB
 * keeps the pages as they are (snapshot-walk.ts).
 *
 * A page that no tree and no free list has is lost space, which lmdb-js leaves now and then: no fault. Neither is a
 * file that ends before its last page, when no tree has what is missing.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import {
  type DataFileFault,
  type Meta,
  type MetaChoice,
  type Metas,
  metaBytes,
  nodeFlags,
  pickMeta,
  readTree,
  readU32,
  readU64,
  treeBytes,
  treeFlagsKnown,
  type TreeRecord,
} from './format.ts';
import { PageFile } from './page-file.ts';
import { type TreeEntry, TreeWalk, type WalkedFile } from './tree-walk.ts';

/** LMDB opens up to 64 tables of ours; more than these is no list of ours. */
const tablesMax = 256;
const faultsMax = 50;
const walksMax = 3;
/** Pages from the largest page size on: enough for both meta pages. */
const startBytes = 65_536 + metaBytes;
/** Missing pages that nothing explains and that are still taken for lost space: LMDB's own accounts are not exact. */
const lostPagesMax = 1_024;

const state = { unknown: 0, used: 1, free: 2 } as const;

export interface WalkOptions {
  /** Absent = `first`. */
  readonly choice?: MetaChoice;
  /** Whether a table's leaves are read, or its branch pages alone. Absent = of all tables. */
  readonly readsLeaves?: (table: string, leafPages: number) => boolean;
  /** Called every few megabytes. */
  readonly onProgress?: (bytesRead: number) => void;
}

export interface DataFileSummary {
  readonly bytesRead: number;
  /** At most 50; the walk ends with them. */
  readonly faults: readonly DataFileFault[];
  /** No writer has committed meanwhile: the faults are no pages that one has used again. */
  readonly isStable: boolean;
  /** Entries by table. */
  readonly tables: ReadonlyMap<string, number>;
  readonly usedPages: number;
  readonly freePages: number;
}

/** Reads the meta pages alone. @throws Error of the system */
export function readMetas(path: string, choice: MetaChoice = 'first'): Metas {
  const descriptor = openSync(path, 'r');
  try {
    const start = Buffer.alloc(startBytes);
    const bytes = readSync(descriptor, start, 0, startBytes, 0);
    return pickMeta(start.subarray(0, bytes), choice);
  } finally {
    closeSync(descriptor);
  }
}

/** @throws Error of the system */
export function walkDataFile(path: string, options: WalkOptions = {}): DataFileSummary {
  for (let walks = 1; ; walks++) {
    const { meta, fault } = readMetas(path, options.choice);
    // A writer may have been in the middle of a meta page, too.
    if (meta === undefined && walks < walksMax) continue;
    if (meta === undefined) return unreadable(path, fault);
    const summary = new Walk(path, meta, options).run();
    const isStable = readMetas(path, options.choice).meta?.transaction === meta.transaction;
    if (summary.faults.length === 0 || isStable || walks === walksMax) {
      return { ...summary, isStable };
    }
  }
}

function unreadable(
  path: string,
  { page, text }: Pick<DataFileFault, 'page' | 'text'>,
): DataFileSummary {
  return {
    bytesRead: 0,
    faults: [{ file: path, page, table: '', text }],
    isStable: true,
    tables: new Map(),
    usedPages: 0,
    freePages: 0,
  };
}

class Walk implements WalkedFile {
  readonly #path: string;
  readonly #meta: Meta;
  readonly #options: WalkOptions;
  readonly file: PageFile;
  readonly #states: Uint8Array;
  readonly #faults: DataFileFault[] = [];
  #freePages = 0;
  #usedPages = 0;
  #freeBeyond = 0;

  constructor(path: string, meta: Meta, options: WalkOptions) {
    this.#path = path;
    this.#meta = meta;
    this.#options = options;
    this.file = PageFile.open(path, meta.pageBytes);
    this.#states = new Uint8Array(this.file.pages);
  }

  get transaction(): number {
    return this.#meta.transaction;
  }
  get isDone(): boolean {
    return this.#faults.length >= faultsMax;
  }

  run(): Omit<DataFileSummary, 'isStable'> {
    const { freeList, tables } = this.#meta;
    const entries = new Map<string, number>();
    try {
      this.#walkFreeList(freeList);
      for (const [table, record] of this.#walkTables(tables)) {
        if (this.isDone) break;
        entries.set(table, record.entries);
        const readsLeaves = this.#options.readsLeaves?.(table, record.leafPages) ?? true;
        new TreeWalk(this, { table, record, readsLeaves }).run();
      }
      this.#checkEnd();
    } finally {
      this.file.close();
    }
    return {
      bytesRead: this.file.bytesRead,
      faults: this.#faults,
      tables: entries,
      usedPages: this.#usedPages,
      freePages: this.#freePages,
    };
  }

  claim(page: number, pages: number, table: string): boolean {
    const { lastPage } = this.#meta;
    if (page < 2 || page + pages - 1 > lastPage) {
      this.fault(page, table, `is referred to, but the last page is ${lastPage}`);
      return false;
    }
    if (page + pages > this.file.pages) {
      this.fault(page, table, `is beyond the end of the file, which has ${this.file.pages} pages`);
      return false;
    }
    for (let at = page; at < page + pages; at++) {
      if (this.#states[at] === state.used) {
        this.fault(at, table, 'is used a second time');
        return false;
      }
      if (this.#states[at] === state.free) this.fault(at, table, 'is in use, and free at once');
      this.#states[at] = state.used;
    }
    this.#usedPages += pages;
    return true;
  }

  fault(page: number, table: string, text: string): void {
    if (!this.isDone) this.#faults.push({ file: this.#path, page, table, text });
  }

  progress(): void {
    this.#options.onProgress?.(this.file.bytesRead);
  }

  /**
   * A record of the free list: transaction u64 -> | count u64 | numbers i64 |, where 0 is empty, and -n says that
   * the number after it begins a run of n pages.
   */
  #walkFreeList(record: TreeRecord): void {
    const table = 'free list';
    const onEntry = (entry: TreeEntry): void => {
      const value = this.#valueOf(entry);
      const count = value.length < 8 ? Number.NaN : readU64(value, 0);
      if (!(count <= value.length / 8 - 1)) {
        this.fault(entry.page, table, `has a list of ${count} in ${value.length} bytes`);
        return;
      }
      for (let at = 8; at <= count * 8; at += 8) {
        let pages = 1;
        if (value[at + 7]! >= 0x80 && at < count * 8) {
          pages = 2 ** 32 - readU32(value, at);
          at += 8;
        }
        const first = readU64(value, at);
        if (first !== 0) this.#free(first, pages, entry.page);
        else if (pages > 1)
          this.fault(entry.page, table, `has a run of ${pages} pages of no number`);
      }
    };
    new TreeWalk(this, { table, record, readsLeaves: true, onEntry }).run();
  }

  #free(first: number, pages: number, page: number): void {
    const { lastPage } = this.#meta;
    if (first < 2 || first + pages - 1 > lastPage) {
      this.fault(
        page,
        'free list',
        `has page ${first} (${pages}), but the last page is ${lastPage}`,
      );
      return;
    }
    for (let at = first; at < first + pages; at++) {
      if (at >= this.#states.length) this.#freeBeyond++;
      else if (this.#states[at] === state.unknown) this.#states[at] = state.free;
      else {
        const twice =
          this.#states[at] === state.free ? 'is free twice' : 'is in use, and free at once';
        this.fault(at, 'free list', twice);
      }
    }
    this.#freePages += pages;
  }

  #valueOf({ bytes, key, keyBytes, flags, valueBytes }: TreeEntry): Buffer {
    const from = key + keyBytes;
    if (flags !== nodeFlags.overflow) return bytes.subarray(from, from + valueBytes);
    const { pageBytes } = this.#meta;
    return this.file.copy(readU64(bytes, from) * pageBytes + 24, valueBytes);
  }

  #walkTables(record: TreeRecord): Map<string, TreeRecord> {
    const tables = new Map<string, TreeRecord>();
    const onEntry = ({ bytes, key, keyBytes, flags, valueBytes, page }: TreeEntry): void => {
      if (flags !== nodeFlags.tree || tables.size === tablesMax) return;
      const name = bytes.toString('utf8', key, key + keyBytes).replace(/[^ -~]/g, '');
      if (valueBytes !== treeBytes) {
        this.fault(page, 'tables', `has ${valueBytes} bytes for the table ${name}`);
        return;
      }
      const tree = readTree(bytes, key + keyBytes);
      if ((tree.flags & ~treeFlagsKnown) !== 0) {
        this.fault(page, 'tables', `has unknown settings for the table ${name}: ${tree.flags}`);
        return;
      }
      tables.set(name, tree);
    };
    const tree = { table: 'tables', record, readsLeaves: true, hasTrees: true, onEntry };
    new TreeWalk(this, tree).run();
    return tables;
  }

  #checkEnd(): void {
    const { lastPage } = this.#meta;
    const missing = lastPage + 1 - this.file.pages - this.#freeBeyond;
    if (missing <= Math.max(lostPagesMax, this.file.pages / 4)) return;
    this.fault(lastPage, '', `is the last, but the file ends with page ${this.file.pages - 1}`);
  }
}
