/**
 * The window: what a shard reads from the journals in one go, gathered per code.
 *
 * `add` writes the scan's entry into one flat buffer in arrival order and hooks it onto its code's chain;
 * `close` lays the chains out as a block, codes ascending. No object per scan; memory is bounded by the
 * bytes a window may read (see `scans.windowBytesMax`), for an entry is smaller than its journal record.
 */
import { blockHeaderBytes, blockVersion, entryBytes, groupBytes } from './block.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

/** A scan as a shard counts it: the journal's record with its visitor classified. */
export interface Scan {
  codeNo: CodeNo;
  workspaceNo: WorkspaceNo;
  timeMs: number;
  journal: number;
  position: number;
  visitorHigh: number;
  visitorLow: number;
  /** Two letters as one number. */
  country: number;
  /** With its country, "Chicago, US"; empty when unknown. */
  city: string;
  referer: string;
  device: number;
  platform: number;
  os: number;
  browser: number;
  bot: number;
}

const stringBytesMax = 65_535;
/** Entries are copied by words: headers, groups and entries are all multiples of one. */
const wordBytes = 4;
const entryWords = entryBytes / wordBytes;

interface Group {
  readonly codeNo: CodeNo;
  readonly workspaceNo: WorkspaceNo;
  first: number;
  last: number;
  count: number;
}

export class Window {
  #entries = Buffer.allocUnsafeSlow(4_096 * entryBytes);
  #view = new DataView(this.#entries.buffer);
  #words = new Int32Array(this.#entries.buffer);
  #next = new Int32Array(4_096);
  #count = 0;
  #newestMs = 0;
  readonly #groups = new Map<number, Group>();
  readonly #strings = new Map<string, number>();
  #stringBytes = 0;

  get scans(): number {
    return this.#count;
  }

  add(scan: Scan): void {
    const entry = this.#count;
    if (entry === this.#next.length) this.#grow();
    const view = this.#view;
    const at = entry * entryBytes;
    view.setFloat64(at, scan.timeMs, true);
    view.setFloat64(at + 8, scan.position, true);
    view.setUint32(at + 16, scan.visitorHigh, true);
    view.setUint32(at + 20, scan.visitorLow, true);
    view.setUint16(at + 24, scan.journal, true);
    view.setUint16(at + 26, scan.country, true);
    view.setUint32(at + 28, this.#stringNumber(scan.city), true);
    view.setUint32(at + 32, this.#stringNumber(scan.referer), true);
    view.setUint8(at + 36, scan.device | (scan.platform << 4));
    view.setUint8(at + 37, scan.os);
    view.setUint8(at + 38, scan.browser);
    view.setUint8(at + 39, scan.bot);
    this.#next[entry] = -1;
    const group = this.#groups.get(scan.codeNo);
    if (group === undefined) {
      const { codeNo, workspaceNo } = scan;
      this.#groups.set(codeNo, { codeNo, workspaceNo, first: entry, last: entry, count: 1 });
    } else {
      this.#next[group.last] = entry;
      group.last = entry;
      group.count++;
    }
    if (scan.timeMs > this.#newestMs) this.#newestMs = scan.timeMs;
    this.#count++;
  }

  /**
   * The window as a block, with `sequence` still 0: `setBlockSequence` fills it in inside the
   * transaction that allots it. @param previousOf sequence of a code's last block, 0 when it has none
   */
  close(shard: number, previousOf: (codeNo: CodeNo) => number): Buffer {
    const groups = [...this.#groups.values()].sort((a, b) => a.codeNo - b.codeNo);
    const entriesAt = blockHeaderBytes + groups.length * groupBytes;
    const stringsAt = entriesAt + this.#count * entryBytes;
    const block = Buffer.allocUnsafeSlow(stringsAt + this.#stringBytes);
    block.fill(0, 0, blockHeaderBytes);
    block[0] = blockVersion;
    block[1] = shard;
    block.writeUInt32LE(groups.length, 4);
    block.writeDoubleLE(this.#newestMs, 16);
    block.writeUInt32LE(stringsAt, 24);
    block.writeUInt32LE(this.#strings.size, 28);
    this.#layGroups(block, groups, entriesAt, previousOf);
    let at = stringsAt;
    for (const text of this.#strings.keys()) {
      const length = block.write(text, at + 2, 'utf8');
      block.writeUInt16LE(length, at);
      at += 2 + length;
    }
    return block;
  }

  clear(): void {
    this.#count = 0;
    this.#newestMs = 0;
    this.#groups.clear();
    this.#strings.clear();
    this.#stringBytes = 0;
  }

  #layGroups(
    block: Buffer,
    groups: readonly Group[],
    entriesAt: number,
    previousOf: (codeNo: CodeNo) => number,
  ): void {
    const view = new DataView(block.buffer, block.byteOffset, block.length);
    const words = new Int32Array(block.buffer, 0, Math.floor(block.length / wordBytes));
    let laid = 0;
    let at = blockHeaderBytes;
    for (const group of groups) {
      view.setUint32(at, group.codeNo, true);
      view.setUint32(at + 4, group.workspaceNo, true);
      view.setUint32(at + 8, laid, true);
      view.setUint32(at + 12, group.count, true);
      view.setFloat64(at + 16, previousOf(group.codeNo), true);
      at += groupBytes;
      for (let entry = group.first; entry !== -1; entry = this.#next[entry]!) {
        let to = entriesAt / wordBytes + laid * entryWords;
        const from = entry * entryWords;
        for (let word = 0; word < entryWords; word++) words[to++] = this.#words[from + word]!;
        laid++;
      }
    }
  }

  #stringNumber(text: string): number {
    if (text === '') return 0;
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    const number = this.#strings.size + 1;
    this.#strings.set(text, number);
    this.#stringBytes += 2 + Math.min(Buffer.byteLength(text), stringBytesMax);
    return number;
  }

  #grow(): void {
    const entries = Buffer.allocUnsafeSlow(this.#entries.length * 2);
    entries.set(this.#entries);
    this.#entries = entries;
    this.#view = new DataView(entries.buffer);
    this.#words = new Int32Array(entries.buffer);
    const next = new Int32Array(this.#next.length * 2);
    next.set(this.#next);
    this.#next = next;
  }
}

export function setBlockSequence(block: Buffer, sequence: number): void {
  block.writeDoubleLE(sequence, 8);
}
