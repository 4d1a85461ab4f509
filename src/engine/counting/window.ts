/**
 * The window: all that a shard reads from the journals at once, grouped by code.
 *
 * `add` writes entries into a flat buffer in order of arrival; `close` lays them out as a block, codes ascending. There is no
 * object per scan or code. An entry is smaller than its record, so `windowBytesMax` bounds the memory.
 */
import { blockHeaderBytes, blockVersion, entryBytes, groupBytes, outcomeOf } from './block.ts';
import { writeAscii } from './bytes.ts';
import { NumberOrder } from './number-order.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import type { ScanVisitor } from '../visitor/visitor.ts';

/** A scan as a shard counts it: the journal's record with its visitor classified. */
export interface Scan extends ScanVisitor {
  codeNo: CodeNo;
  workspaceNo: WorkspaceNo;
  timeMs: number;
  journal: number;
  position: number;
  referer: string;
  route: number;
}

const stringBytesMax = 65_535;
/** Native code is faster for longer ones. */
const shortTextMax = 64;
/** Headers, groups and entries are multiples of a word. */
const wordBytes = 4;
const entryWords = entryBytes / wordBytes;

const firstLength = 4_096;

export class Window {
  #entries = Buffer.allocUnsafeSlow(firstLength * entryBytes);
  #view = new DataView(this.#entries.buffer);
  #words = new Int32Array(this.#entries.buffer);
  #codes = new Uint32Array(firstLength);
  #workspaces = new Uint32Array(firstLength);
  readonly #order = new NumberOrder();
  #count = 0;
  #newestMs = 0;
  readonly #strings = new Map<string, number>();
  #stringBytes = 0;

  get scans(): number {
    return this.#count;
  }

  add(scan: Scan): void {
    const entry = this.#count;
    if (entry === this.#codes.length) this.#grow();
    this.#codes[entry] = scan.codeNo;
    this.#workspaces[entry] = scan.workspaceNo;
    if (scan.timeMs > this.#newestMs) this.#newestMs = scan.timeMs;
    this.#count++;
    const at = entry * entryBytes;
    const view = this.#view;
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
    view.setUint8(at + 39, outcomeOf(scan.bot, scan.route));
  }

  /** The window as a block without its sequence. @param previousOf sequence of a code's last block, 0 = none */
  close(shard: number, previousOf: (codeNo: CodeNo) => number): Buffer {
    const order = this.#order.of(this.#codes, this.#count);
    const groups = this.#groupsIn(order);
    const entriesAt = blockHeaderBytes + groups * groupBytes;
    const stringsAt = entriesAt + this.#count * entryBytes;
    const block = Buffer.allocUnsafeSlow(stringsAt + this.#stringBytes);
    block.fill(0, 0, blockHeaderBytes);
    block[0] = blockVersion;
    block[1] = shard;
    block.writeUInt32LE(groups, 4);
    block.writeDoubleLE(this.#newestMs, 16);
    block.writeUInt32LE(stringsAt, 24);
    block.writeUInt32LE(this.#strings.size, 28);
    this.#layGroups(block, order, previousOf);
    this.#layEntries(block, order, entriesAt);
    let at = stringsAt;
    for (const text of this.#strings.keys()) {
      const isShort = text.length <= shortTextMax && writeAscii(block, at + 2, text);
      const length = isShort ? text.length : block.write(text, at + 2, 'utf8');
      block.writeUInt16LE(length, at);
      at += 2 + length;
    }
    return block;
  }

  /** In order of their numbers, the empty one first. */
  strings(): string[] {
    return ['', ...this.#strings.keys()];
  }

  clear(): void {
    this.#count = 0;
    this.#newestMs = 0;
    this.#strings.clear();
    this.#stringBytes = 0;
  }

  #groupsIn(order: Uint32Array): number {
    const codes = this.#codes;
    let groups = 0;
    for (let at = 0; at < this.#count; at++) {
      if (at === 0 || codes[order[at]!] !== codes[order[at - 1]!]) groups++;
    }
    return groups;
  }

  #layGroups(block: Buffer, order: Uint32Array, previousOf: (codeNo: CodeNo) => number): void {
    const view = new DataView(block.buffer, block.byteOffset, block.length);
    const codes = this.#codes;
    let at = blockHeaderBytes;
    for (let first = 0, end = 0; first < this.#count; first = end) {
      const codeNo = codes[order[first]!]!;
      while (end < this.#count && codes[order[end]!] === codeNo) end++;
      view.setUint32(at, codeNo, true);
      view.setUint32(at + 4, this.#workspaces[order[first]!]!, true);
      view.setUint32(at + 8, first, true);
      view.setUint32(at + 12, end - first, true);
      view.setFloat64(at + 16, previousOf(codeNo), true);
      at += groupBytes;
    }
  }

  #layEntries(block: Buffer, order: Uint32Array, entriesAt: number): void {
    const from = this.#words;
    const to = new Int32Array(block.buffer, 0, Math.floor(block.length / wordBytes));
    let at = entriesAt / wordBytes;
    for (let laid = 0; laid < this.#count; laid++) {
      const entry = order[laid]! * entryWords;
      for (let word = 0; word < entryWords; word++) to[at++] = from[entry + word]!;
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
    this.#codes = grown(this.#codes);
    this.#workspaces = grown(this.#workspaces);
  }
}

function grown(numbers: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}

/** Inside the transaction that assigns it. */
export function setBlockSequence(block: Buffer, sequence: number): void {
  block.writeDoubleLE(sequence, 8);
}
