/**
 * A block: one window of one shard, as stored. It is raw scans, outbox of `qr.scanned`, and write-ahead log of the rollups,
 * so a scan costs one sequential write. Live counting and recovery apply it with the same code.
 *
 *    0  version u8 | shard u8 | zero u16     16  newestMs f64
 *    4  groups  u32                          24  stringsAt u32
 *    8  sequence f64                         28  strings   u32
 *   32  groups, ascending by code, 24 bytes each:
 *         codeNo u32 | workspaceNo u32 | first u32 | count u32 | previous f64
 *       entries of the groups in order, 40 bytes each:
 *         timeMs f64 | position f64 | visitor u32 u32 | journal u16 | country u16 |
 *         city u32 | referer u32 | device+platform u8 | os u8 | browser u8 | outcome u8
 *       strings: length u16 | UTF-8; number 0 is the empty string and is not stored
 *
 * `previous` is the block with the code's scans before these: a chain back in time from the code's summary, in place of an
 * index. A city includes its country, "Chicago, US". `outcome` is the bot reason in two bits, 0 = a person, and the route in
 * six (model/routing/labels.ts).
 */
import { dayOf, quarterMs } from '../../model/day.ts';
import { dataDamaged } from '../../model/failure.ts';
import { isMissed } from '../../model/routing/labels.ts';
import { countryCode } from '../../model/scan.ts';
import type { Sketch } from '../../model/sketch/sketch.ts';
import type { ValueInPlace } from '../../store/environment.ts';
import { type CounterKind, dayStoredMax } from '../../store/scans/scans.ts';
import { quartersPerDay } from './days/day.ts';
import { Dimension, type Rollup } from './rollup.ts';
import type { CodeNo } from '../../model/numbers.ts';

export const blockVersion = 1;
export const blockHeaderBytes = 32;
export const groupBytes = 24;
export const entryBytes = 40;
const botMask = 3;
const routeShift = 2;
/** ", US" */
const countrySuffixLength = 4;

export const outcomeOf = (bot: number, route: number): number => bot | (route << routeShift);
const botOf = (outcome: number): number => outcome & botMask;
const routeOf = (outcome: number): number => outcome >>> routeShift;
/** Only people who were redirected count as scans. */
const isScanOutcome = (outcome: number): boolean =>
  botOf(outcome) === 0 && !isMissed(routeOf(outcome));

/** Parsing a referer as a URL takes 1 µs. About 2 MB at most; a full map is cleared. */
const hosts = new Map<string, string>();
const hostsMax = 4_096;

/** Reads a block without copying it. `open` moves one reader over millions of blocks in the store's memory. */
export class ScanBlock {
  #view: DataView = new DataView(new ArrayBuffer(0));
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  groups = 0;
  #groupsAt = 0;
  #entriesAt = 0;
  #stringsAt = 0;
  /** By number; decoded on demand. */
  #strings: (string | undefined)[] = [];
  /** Offsets of the strings from number 1 on, as far as they were looked up. */
  #stringPlaces: number[] = [];

  /** Empty until `open` is called. */
  constructor();
  /** @param strings its decoded strings, the empty one first @throws Failure data_damaged */
  constructor(bytes: Uint8Array, strings?: string[]);
  constructor(bytes?: Uint8Array, strings?: string[]) {
    if (bytes === undefined) return;
    const { buffer, byteOffset, byteLength } = bytes;
    const view = new DataView(buffer, byteOffset, byteLength);
    const own = Buffer.from(buffer, byteOffset, byteLength);
    this.open({ bytes: own, view, start: 0, end: byteLength }, strings);
  }

  /** Moves to another block, whose checksum it does not check. @throws Failure data_damaged when the bytes are no block */
  open(value: Omit<ValueInPlace, 'content'>, strings: string[] = ['']): void {
    const { bytes, view, start, end } = value;
    const length = end - start;
    const version = length < blockHeaderBytes ? 0 : view.getUint8(start);
    if (version !== blockVersion) {
      throw dataDamaged(`Cannot read block: version ${version}, expected ${blockVersion}`);
    }
    const groups = view.getUint32(start + 4, true);
    const entriesAt = blockHeaderBytes + groups * groupBytes;
    const stringsAt = view.getUint32(start + 24, true);
    if (entriesAt > stringsAt || stringsAt > length) {
      throw dataDamaged(`Cannot read block: ${length} bytes, expected more`);
    }
    this.#bytes = bytes;
    this.#view = view;
    this.#start = start;
    this.#end = end;
    this.groups = groups;
    this.#groupsAt = start + blockHeaderBytes;
    this.#entriesAt = start + entriesAt;
    this.#stringsAt = start + stringsAt;
    this.#strings = strings;
    this.#stringPlaces = [this.#stringsAt];
  }

  get sequence(): number {
    return this.#view.getFloat64(this.#start + 8, true);
  }
  get newestMs(): number {
    return this.#view.getFloat64(this.#start + 16, true);
  }

  /** Also those that do not count as scans. */
  get entries(): number {
    return (this.#stringsAt - this.#entriesAt) / entryBytes;
  }
  get length(): number {
    return this.#end - this.#start;
  }

  codeNo(group: number): number {
    return this.#view.getUint32(this.#groupsAt + group * groupBytes, true);
  }
  workspaceNo(group: number): number {
    return this.#view.getUint32(this.#groupsAt + group * groupBytes + 4, true);
  }
  first(group: number): number {
    return this.#view.getUint32(this.#groupsAt + group * groupBytes + 8, true);
  }
  count(group: number): number {
    return this.#view.getUint32(this.#groupsAt + group * groupBytes + 12, true);
  }
  /** 0 = none. */
  previous(group: number): number {
    return this.#view.getFloat64(this.#groupsAt + group * groupBytes + 16, true);
  }

  raise(seen: { code: number; workspace: number }): void {
    for (let group = 0; group < this.groups; group++) {
      seen.code = Math.max(seen.code, this.codeNo(group));
      seen.workspace = Math.max(seen.workspace, this.workspaceNo(group));
    }
  }

  /** The group of a code, or -1. */
  find(codeNo: CodeNo): number {
    let low = 0;
    let high = this.groups - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.codeNo(middle);
      if (found === codeNo) return middle;
      if (found < codeNo) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  timeMs(entry: number): number {
    return this.#view.getFloat64(this.#at(entry), true);
  }
  /** The UTC day it counts on, clamped to the days that the store can name. */
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
    return countryCode(this.countryNumber(entry));
  }
  countryNumber(entry: number): number {
    return this.#view.getUint16(this.#at(entry) + 26, true);
  }
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
  host(entry: number): string {
    return this.#host(this.#view.getUint32(this.#at(entry) + 32, true));
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
  route(entry: number): number {
    return routeOf(this.#view.getUint8(this.#at(entry) + 39));
  }
  isScan(entry: number): boolean {
    return isScanOutcome(this.#view.getUint8(this.#at(entry) + 39));
  }

  /** @param of a workspace's rollup does not mix the labels of different codes @returns whether it is a scan */
  countInto(entry: number, rollup: Rollup, sketch: Sketch, of: CounterKind): boolean {
    const view = this.#view;
    const at = this.#at(entry);
    const outcome = view.getUint8(at + 39);
    if (outcome !== 0) {
      countOutcome(rollup, outcome, of);
      if (!isScanOutcome(outcome)) return false;
    }
    const shape = view.getUint8(at + 36);
    const timeMs = view.getFloat64(at, true);
    rollup.scans++;
    rollup.count(Dimension.platform, shape >>> 4);
    rollup.count(Dimension.device, shape & 0xf);
    rollup.count(Dimension.os, view.getUint8(at + 37));
    rollup.count(Dimension.browser, view.getUint8(at + 38));
    rollup.count(Dimension.country, view.getUint16(at + 26, true));
    rollup.countQuarter(Math.floor(timeMs / quarterMs) - dayOf(timeMs) * quartersPerDay);
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
    const places = this.#stringPlaces;
    for (let at = places.at(-1)!; places.length < number; places.push(at)) {
      at += 2 + this.#view.getUint16(at, true);
    }
    const at = places[number - 1]!;
    const text = this.#bytes.toString('utf8', at + 2, at + 2 + this.#view.getUint16(at, true));
    this.#strings[number] = text;
    return text;
  }

  #host(number: number): string {
    if (number === 0) return '';
    const referer = this.#string(number);
    let host = hosts.get(referer);
    if (host === undefined) {
      host = refererHost(referer);
      if (hosts.size === hostsMax) hosts.clear();
      hosts.set(referer, host);
    }
    return host;
  }
}

/** Bots by reason, people by route. @param outcome not 0, which needs no count */
function countOutcome(rollup: Rollup, outcome: number, of: CounterKind): void {
  const bot = botOf(outcome);
  const route = routeOf(outcome);
  if (bot !== 0) rollup.count(Dimension.bot, bot);
  else if (of === 'codes' || isMissed(route)) rollup.count(Dimension.route, route);
}

/**
 * Host of a referer without `www.`, at most 100 characters; empty for an invalid referer. Not by `URL.canParse`: once
 * compiled, Node 22's reads non-ASCII letters differently from `new URL`.
 */
export function refererHost(referer: string): string {
  const url = URL.parse(referer);
  if (url === null) return '';
  const host = url.host === '' ? url.protocol.slice(0, -1) : url.host;
  return host.replace(/^www\./, '').slice(0, 100);
}
