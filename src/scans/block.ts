/**
 * A block: one window of one shard, as stored. It is three things at once: the raw scans, the outbox of
 * `qr.scanned`, and the write-ahead log of the rollups, which are applied FROM it, live and on recovery,
 * by the same code. So a scan costs one sequential write, and rollups go to disk every few seconds.
 *
 *    0  version u8 | shard u8 | zero u16     16  newestMs f64
 *    4  groups  u32                          24  stringsAt u32
 *    8  sequence f64                         28  strings   u32
 *   32  groups, ascending by code, 24 bytes each:
 *         codeNo u32 | workspaceNo u32 | first u32 | count u32 | previous f64
 *       entries of the groups in order, 40 bytes each:
 *         timeMs f64 | position f64 | visitor u32 u32 | journal u16 | country u16 |
 *         city u32 | referer u32 | device+platform u8 | os u8 | browser u8 | outcome u8
 *       strings: length u16 | UTF-8, number 0 is the empty one and is not stored
 *
 * `previous` is the sequence of the block that holds the code's scans before these: a chain from the
 * code's summary back through time, which saves an index entry per code and window.
 * A city is stored with its country, "Chicago, US", as rollups name it.
 * `outcome` says in two bits which bot it was, 0 = a person, and in six where it led (model/routing/labels.ts).
 * Version 1 knew no routes: its six bits are 0, which is the code's target.
 */
import { dayOf, quarterMs } from '../model/day.ts';
import { dataDamaged } from '../model/failure.ts';
import { isMissed } from '../model/routing/labels.ts';
import { countryCode } from '../model/scan.ts';
import type { Sketch } from '../model/sketch/sketch.ts';
import { type Counted, dayStoredMax } from '../store/scans/scans.ts';
import { quartersPerDay } from './days/day.ts';
import { Dimension, type Rollup } from './rollup.ts';
import type { CodeNo } from '../model/numbers.ts';

export const blockVersion = 2;
export const oldestVersion = 1;
export const blockHeaderBytes = 32;
export const groupBytes = 24;
export const entryBytes = 40;
const botMask = 3;
const routeShift = 2;
/** ", US" at the end of a city's string. */
const countrySuffixLength = 4;

/** The last byte of an entry. @param bot 0 to 3 @param route 0 to 63 */
export const outcomeOf = (bot: number, route: number): number => bot | (route << routeShift);
const botOf = (outcome: number): number => outcome & botMask;
export const routeOf = (outcome: number): number => outcome >>> routeShift;
/** Whether it counts: a person who did not come in vain. */
export const isScanOutcome = (outcome: number): boolean =>
  botOf(outcome) === 0 && !isMissed(routeOf(outcome));

export class ScanBlock {
  readonly #view: DataView;
  readonly #bytes: Buffer;
  readonly groups: number;
  readonly #entriesAt: number;
  readonly #strings: (string | undefined)[];
  #stringOffsets: Uint32Array | undefined;
  readonly #hosts = new Map<number, string>();

  /** @param strings its strings where they are at hand, the empty one first */
  constructor(bytes: Uint8Array, strings: string[] = ['']) {
    this.#strings = strings;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const version = bytes[0] ?? 0;
    const isKnown = version >= oldestVersion && version <= blockVersion;
    if (bytes.length < blockHeaderBytes || !isKnown) {
      throw dataDamaged(`Cannot read block: version ${version}, expected ${blockVersion}`);
    }
    this.groups = this.#view.getUint32(4, true);
    this.#entriesAt = blockHeaderBytes + this.groups * groupBytes;
    const stringsAt = this.#view.getUint32(24, true);
    if (this.#entriesAt > stringsAt || stringsAt > bytes.length) {
      throw dataDamaged(`Cannot read block: ${bytes.length} bytes, expected more`);
    }
  }

  get sequence(): number {
    return this.#view.getFloat64(8, true);
  }
  /** Time of the newest scan: retention goes by it. */
  get newestMs(): number {
    return this.#view.getFloat64(16, true);
  }

  /** Scans and what does not count. */
  get entries(): number {
    return (this.#view.getUint32(24, true) - this.#entriesAt) / entryBytes;
  }
  /** Bytes it takes. */
  get length(): number {
    return this.#bytes.length;
  }

  codeNo(group: number): number {
    return this.#view.getUint32(blockHeaderBytes + group * groupBytes, true);
  }
  workspaceNo(group: number): number {
    return this.#view.getUint32(blockHeaderBytes + group * groupBytes + 4, true);
  }
  first(group: number): number {
    return this.#view.getUint32(blockHeaderBytes + group * groupBytes + 8, true);
  }
  count(group: number): number {
    return this.#view.getUint32(blockHeaderBytes + group * groupBytes + 12, true);
  }
  /** Sequence of the block with the code's scans before these; 0 = none. */
  previous(group: number): number {
    return this.#view.getFloat64(blockHeaderBytes + group * groupBytes + 16, true);
  }

  /** Raises `seen` to the highest numbers in the block. */
  raise(seen: { code: number; workspace: number }): void {
    for (let group = 0; group < this.groups; group++) {
      seen.code = Math.max(seen.code, this.codeNo(group));
      seen.workspace = Math.max(seen.workspace, this.workspaceNo(group));
    }
  }

  /** The group of a code, or -1. */
  find(codeNo: CodeNo): number {
    return findGroup(this, codeNo);
  }

  /** Whether its groups and its strings lie within it: of a release without checksums nothing else says so. */
  isWhole(): boolean {
    const { entries } = this;
    let strings = this.#view.getUint32(28, true);
    let at = this.#view.getUint32(24, true);
    for (; strings > 0 && at + 2 <= this.length; strings--)
      at += 2 + this.#view.getUint16(at, true);
    if (strings > 0 || at > this.length) return false;
    for (let group = 0; group < this.groups; group++) {
      if (this.first(group) + this.count(group) > entries) return false;
    }
    for (let entry = 0; entry < entries; entry++) if (!this.#hasStrings(entry)) return false;
    return true;
  }
  #hasStrings(entry: number): boolean {
    const at = this.#at(entry);
    const last = this.#view.getUint32(28, true);
    return (
      this.#view.getUint32(at + 28, true) <= last && this.#view.getUint32(at + 32, true) <= last
    );
  }

  /** Its bytes, as they are. */
  copyEntry(entry: number, into: Uint8Array, at: number): void {
    const from = this.#at(entry);
    into.set(this.#bytes.subarray(from, from + entryBytes), at);
  }
  timeMs(entry: number): number {
    return this.#view.getFloat64(this.#at(entry), true);
  }
  /** The day it counts on: that of its time, within what the store can name. */
  day(entry: number): number {
    return Math.min(Math.max(0, dayOf(this.timeMs(entry))), dayStoredMax);
  }
  position(entry: number): number {
    return this.#view.getFloat64(this.#at(entry) + 8, true);
  }
  journal(entry: number): number {
    return this.#view.getUint16(this.#at(entry) + 24, true);
  }
  country(entry: number): string {
    return countryCode(this.#view.getUint16(this.#at(entry) + 26, true));
  }
  /** With its country, as rollups name it: "Chicago, US". */
  namedCity(entry: number): string {
    return this.#string(this.#view.getUint32(this.#at(entry) + 28, true));
  }
  city(entry: number): string {
    const named = this.namedCity(entry);
    return named === '' ? '' : named.slice(0, -countrySuffixLength);
  }
  referer(entry: number): string {
    return this.#string(this.#view.getUint32(this.#at(entry) + 32, true));
  }
  device(entry: number): number {
    return this.#view.getUint8(this.#at(entry) + 36) & 0xf;
  }
  os(entry: number): number {
    return this.#view.getUint8(this.#at(entry) + 37);
  }
  browser(entry: number): number {
    return this.#view.getUint8(this.#at(entry) + 38);
  }
  bot(entry: number): number {
    return botOf(this.#view.getUint8(this.#at(entry) + 39));
  }
  /** Where it led. */
  route(entry: number): number {
    return routeOf(this.#view.getUint8(this.#at(entry) + 39));
  }
  /** Whether it counts: a person who did not come in vain. */
  isScan(entry: number): boolean {
    return isScanOutcome(this.#view.getUint8(this.#at(entry) + 39));
  }

  /**
   * Counts one entry.
   * @param of whose rollup it is: labels of different codes are not mixed in one
   * @returns whether it is a scan
   */
  countInto(entry: number, rollup: Rollup, sketch: Sketch, of: Counted): boolean {
    const view = this.#view;
    const at = this.#at(entry);
    const outcome = view.getUint8(at + 39);
    if (outcome !== 0) {
      countOutcome(rollup, outcome, of, 1);
      if (!isScanOutcome(outcome)) return false;
    }
    const shape = view.getUint8(at + 36);
    rollup.scans++;
    countShape(rollup, shape, 1);
    rollup.count(Dimension.os, view.getUint8(at + 37));
    rollup.count(Dimension.browser, view.getUint8(at + 38));
    rollup.count(Dimension.country, view.getUint16(at + 26, true));
    countTime(rollup, view.getFloat64(at, true), 1);
    rollup.countName(Dimension.city, this.#string(view.getUint32(at + 28, true)));
    rollup.countName(Dimension.referer, this.#host(view.getUint32(at + 32, true)));
    sketch.add(view.getUint32(at + 16, true), view.getUint32(at + 20, true));
    return true;
  }

  #at(entry: number): number {
    return this.#entriesAt + entry * entryBytes;
  }

  #string(number: number): string {
    const known = this.#strings[number];
    if (known !== undefined) return known;
    const at = this.#offsets()[number]!;
    const text = this.#bytes.toString('utf8', at + 2, at + 2 + this.#view.getUint16(at, true));
    this.#strings[number] = text;
    return text;
  }

  #offsets(): Uint32Array {
    if (this.#stringOffsets !== undefined) return this.#stringOffsets;
    const offsets = new Uint32Array(this.#view.getUint32(28, true) + 1);
    let at = this.#view.getUint32(24, true);
    for (let number = 1; number < offsets.length; number++) {
      offsets[number] = at;
      at += 2 + this.#view.getUint16(at, true);
    }
    this.#stringOffsets = offsets;
    return offsets;
  }

  #host(number: number): string {
    if (number === 0) return '';
    let host = this.#hosts.get(number);
    if (host === undefined) {
      host = refererHost(this.#string(number));
      this.#hosts.set(number, host);
    }
    return host;
  }
}

/**
 * What a field of an entry counts as, once or many times: live counting takes an entry at a time, a query over raw scans
 * counts each field by itself (query/raw/entry-counter.ts). Bots by reason, wherever they were led; people by route.
 * @param outcome not 0, which counts as nothing
 */
export function countOutcome(rollup: Rollup, outcome: number, of: Counted, times: number): void {
  const bot = botOf(outcome);
  const route = routeOf(outcome);
  if (bot !== 0) rollup.count(Dimension.bot, bot, times);
  else if (of === 'codes' || isMissed(route)) rollup.count(Dimension.route, route, times);
}

/** Of scans alone, as `countTime`. @param shape device and platform in one byte */
export function countShape(rollup: Rollup, shape: number, times: number): void {
  rollup.count(Dimension.platform, shape >>> 4, times);
  rollup.count(Dimension.device, shape & 0xf, times);
}

export function countTime(rollup: Rollup, timeMs: number, times: number): void {
  const quarter = Math.floor(timeMs / quarterMs) - dayOf(timeMs) * quartersPerDay;
  rollup.countQuarter(quarter, times);
}

/** The group of a code among a block's, which are in the order of their codes, or -1: binary search. */
export function findGroup(
  block: { readonly groups: number; codeNo(group: number): number },
  codeNo: CodeNo,
): number {
  let low = 0;
  let high = block.groups - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = block.codeNo(middle);
    if (found === codeNo) return middle;
    if (found < codeNo) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/**
 * Host of a referer without `www.`; the empty name without a valid one. At most 100 characters.
 * Not by `URL.canParse`: once it is compiled, Node 22's reads letters beyond ASCII in another way than `new URL`.
 */
export function refererHost(referer: string): string {
  const url = URL.parse(referer);
  if (url === null) return '';
  const host = url.host === '' ? url.protocol.slice(0, -1) : url.host;
  return host.replace(/^www\./, '').slice(0, 100);
}
