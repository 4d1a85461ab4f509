/**
 * Walks one tree of a data file from its root, level by level in groups, and checks every page on the way.
 *
 *   group: up to 1,024 pages of one level, read in the order of their numbers -> branches are kept
 *     -> their children, in groups again -> leaves
 *
 * Memory: the branch pages of one group a level, 4 MiB each. A page's keys must lie between those of its parents.
 */
import {
  depthMax,
  headerBytes,
  integerKeys,
  nodeBytes,
  nodeFlags,
  noPage,
  pageKindMask,
  pageKinds,
  readU16,
  readU32,
  readU64,
  type TreeRecord,
} from './format.ts';
import { childOf, compareNodes, nodeAt, nodeCount, pageFault } from './page.ts';
import type { PageFile } from './page-file.ts';

const groupPagesMax = 1_024;

/** What the trees of one file share. */
export interface WalkedFile {
  readonly file: PageFile;
  /** The newest transaction of the snapshot. */
  readonly transaction: number;
  /** Nothing more is to be done: enough faults are found. */
  readonly isDone: boolean;
  /** Takes pages as a tree's own. @returns false where they cannot be read: a fault is noted */
  claim(page: number, pages: number, table: string): boolean;
  fault(page: number, table: string, text: string): void;
  /** Called now and then. */
  progress(): void;
}

export interface WalkedTree {
  readonly table: string;
  readonly record: TreeRecord;
  /** False = branch pages alone. */
  readonly readsLeaves: boolean;
  /** Each entry of a leaf; the value stands at `from`, or in overflow pages from the page number `from`. */
  readonly onEntry?: (entry: TreeEntry) => void;
  readonly hasTrees?: boolean;
}

export interface TreeEntry {
  readonly bytes: Buffer;
  /** Where the key stands in `bytes`, and its length. */
  readonly key: number;
  readonly keyBytes: number;
  readonly flags: number;
  readonly valueBytes: number;
  /** Page of the leaf. */
  readonly page: number;
}

interface Branch {
  readonly bytes: Buffer;
  readonly page: number;
  readonly parent: Branch | undefined;
  /** Which of the parent's children it is. */
  readonly slot: number;
}

/** Pages of one level, with the place of each in its parent. */
interface Group {
  pages: number[];
  parents: Array<Branch | undefined>;
  slots: number[];
}

/** Values in overflow pages, by their first page. */
interface Runs {
  readonly pages: number[];
  readonly counts: number[];
  readonly leaves: number[];
}

export class TreeWalk {
  readonly #walked: WalkedFile;
  readonly #tree: WalkedTree;
  readonly #header = Buffer.alloc(headerBytes);
  #branchPages = 0;
  #leafPages = 0;
  #overflowPages = 0;
  #entries = 0;

  constructor(walked: WalkedFile, tree: WalkedTree) {
    this.#walked = walked;
    this.#tree = tree;
  }

  run(): void {
    const { table, record, readsLeaves } = this.#tree;
    const { depth, root } = record;
    if (root === noPage) return this.#compare('entries', record.entries);
    if (depth < 1 || depth > depthMax) {
      this.#walked.fault(0, table, `is said to be ${depth} pages deep`);
      return;
    }
    if (!this.#walked.claim(root, 1, table)) return;
    this.#visit({ pages: [root], parents: [undefined], slots: [0] }, 1);
    if (this.#walked.isDone) return;
    this.#compare('branch pages', record.branchPages, this.#branchPages);
    this.#compare('leaf pages', record.leafPages, this.#leafPages);
    if (!readsLeaves) return;
    this.#compare('overflow pages', record.overflowPages, this.#overflowPages);
    this.#compare('entries', record.entries, this.#entries);
  }

  #compare(what: string, said: number, found = 0): void {
    if (said === found) return;
    const { table, record } = this.#tree;
    const page = record.root === noPage ? 0 : record.root;
    this.#walked.fault(page, table, `is the root of ${found} ${what}, expected ${said}`);
  }

  #visit(group: Group, level: number): void {
    const { record, readsLeaves } = this.#tree;
    const isLeaf = level === record.depth;
    if (isLeaf) this.#leafPages += group.pages.length;
    else this.#branchPages += group.pages.length;
    if (isLeaf && !readsLeaves) return;
    const sorted = sortGroup(group);
    const branches: Branch[] = [];
    const runs: Runs = { pages: [], counts: [], leaves: [] };
    this.#walked.file.read(sorted.pages, (bytes, at, page, index) => {
      const parent = sorted.parents[index];
      const slot = sorted.slots[index]!;
      if (this.#walked.isDone || !this.#isSound(bytes, at, page, isLeaf, parent, slot)) return;
      if (isLeaf) this.#readLeaf(bytes, at, page, runs);
      else {
        const { pageBytes } = this.#walked.file;
        branches.push({
          bytes: Buffer.from(bytes.subarray(at, at + pageBytes)),
          page,
          parent,
          slot,
        });
      }
    });
    this.#checkRuns(runs);
    this.#walked.progress();
    this.#descend(branches, level + 1);
  }

  #isSound(
    bytes: Buffer,
    at: number,
    page: number,
    isLeaf: boolean,
    parent: Branch | undefined,
    slot: number,
  ): boolean {
    const { file, transaction } = this.#walked;
    const { table, record, hasTrees } = this.#tree;
    const fault =
      pageFault(bytes, at, page, {
        kind: isLeaf ? pageKinds.leaf : pageKinds.branch,
        pageBytes: file.pageBytes,
        transaction,
        flags: record.flags,
        hasTrees: hasTrees === true,
      }) ?? this.#boundsFault(bytes, at, isLeaf, parent, slot);
    if (fault !== undefined) this.#walked.fault(page, table, fault);
    return fault === undefined;
  }

  #boundsFault(
    bytes: Buffer,
    at: number,
    isLeaf: boolean,
    parent: Branch | undefined,
    slot: number,
  ): string | undefined {
    if (parent === undefined) return undefined;
    const isInteger = (this.#tree.record.flags & integerKeys) !== 0;
    const first = nodeAt(bytes, at, isLeaf ? 0 : 1);
    const last = nodeAt(bytes, at, nodeCount(bytes, at) - 1);
    let low: Branch | undefined = parent;
    let lowSlot = slot;
    for (; low !== undefined && lowSlot === 0; low = low.parent) lowSlot = low.slot;
    if (low !== undefined) {
      const key = nodeAt(low.bytes, 0, lowSlot);
      if (compareNodes(bytes, first, low.bytes, key, isInteger) < 0) {
        return `has keys that belong before it, by page ${low.page}`;
      }
    }
    let high: Branch | undefined = parent;
    let highSlot = slot + 1;
    for (; high !== undefined && highSlot === nodeCount(high.bytes, 0); high = high.parent) {
      highSlot = high.slot + 1;
    }
    if (high === undefined) return undefined;
    const key = nodeAt(high.bytes, 0, highSlot);
    if (compareNodes(bytes, last, high.bytes, key, isInteger) < 0) return undefined;
    return `has keys that belong after it, by page ${high.page}`;
  }

  #readLeaf(bytes: Buffer, at: number, page: number, runs: Runs): void {
    const count = nodeCount(bytes, at);
    const { table, onEntry } = this.#tree;
    this.#entries += count;
    for (let index = 0; index < count; index++) {
      const node = nodeAt(bytes, at, index);
      const flags = readU16(bytes, node + 4);
      if (flags === 0 && onEntry === undefined) continue;
      const keyBytes = readU16(bytes, node + 6);
      const valueBytes = readU32(bytes, node);
      if (flags === nodeFlags.overflow) {
        const value = node + nodeBytes + keyBytes;
        const first = readU64(bytes, value);
        const pages = readU64(bytes, value + 16);
        const { pageBytes } = this.#walked.file;
        // A smaller value in the place of a larger one keeps its pages.
        if (pages < 1 || pages * pageBytes < headerBytes + valueBytes) {
          this.#walked.fault(
            page,
            table,
            `has entry ${index} of ${valueBytes} bytes in ${pages} pages`,
          );
          continue;
        }
        if (!this.#walked.claim(first, pages, table)) continue;
        this.#overflowPages += pages;
        runs.pages.push(first);
        runs.counts.push(pages);
        runs.leaves.push(page);
      }
      onEntry?.({ bytes, key: node + nodeBytes, keyBytes, flags, valueBytes, page });
    }
  }

  /** The header of each run's first page: LMDB reads what follows without a look. */
  #checkRuns({ pages, counts }: Runs): void {
    const { file, transaction } = this.#walked;
    for (const [index, page] of pages.entries()) {
      if (this.#walked.isDone) return;
      file.copyInto(this.#header, page * file.pageBytes);
      const header = this.#header;
      const isSound =
        readU64(header, 0) === page &&
        readU64(header, 8) <= transaction &&
        (readU16(header, 18) & pageKindMask) === pageKinds.overflow &&
        readU32(header, 20) === counts[index];
      if (!isSound) {
        this.#walked.fault(page, this.#tree.table, `is not the ${counts[index]} pages of a value`);
      }
    }
  }

  #descend(branches: readonly Branch[], level: number): void {
    const { table } = this.#tree;
    let group: Group = { pages: [], parents: [], slots: [] };
    for (const branch of branches) {
      const count = nodeCount(branch.bytes, 0);
      for (let slot = 0; slot < count; slot++) {
        const child = childOf(branch.bytes, nodeAt(branch.bytes, 0, slot));
        if (this.#walked.isDone) return;
        if (!this.#walked.claim(child, 1, table)) continue;
        group.pages.push(child);
        group.parents.push(branch);
        group.slots.push(slot);
      }
      if (group.pages.length < groupPagesMax) continue;
      this.#visit(group, level);
      group = { pages: [], parents: [], slots: [] };
    }
    if (group.pages.length > 0) this.#visit(group, level);
  }
}

function sortGroup({ pages, parents, slots }: Group): Group {
  const order = pages.map((_, index) => index).sort((a, b) => pages[a]! - pages[b]!);
  return {
    pages: order.map((index) => pages[index]!),
    parents: order.map((index) => parents[index]),
    slots: order.map((index) => slots[index]!),
  };
}
