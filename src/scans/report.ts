/**
 * The read side: what is known of a code for any range of days.
 *
 * A range is answered from whole months, single days at its edges, the head's day, and the blocks since
 * the last checkpoint, which hold the scans of the last few seconds. All is read in one snapshot, so the
 * parts never overlap and never miss one another. The cost depends on the months in the range, not on
 * the number of scans.
 */
import { partitionOf } from '../model/code.ts';
import { dayMs, isoTime } from '../model/day.ts';
import type { EventEnvelope } from '../model/event.ts';
import { positionId } from '../model/ids.ts';
import { botReasonNames, browserNames, deviceNames, osNames, Platform } from '../model/scan.ts';
import { Sketch } from '../model/sketch.ts';
import { dayStoredMax, readCheckpoints, spanKey, spanOf, type ScanStore } from '../store/scans.ts';
import { ScanBlock } from './block.ts';
import { countryCode, Dimension, Rollup } from './rollup.ts';
import { firstDayOf, monthOf, Summaries } from './summaries.ts';

/** Countries that `topCountries` lists. */
const topCountriesMax = 10;
/** Blocks one page of events looks through at most; the cursor goes on from there. */
const eventBlocksMax = 2_000;
/** Bytes of blocks one page of events reads at most: about 20 ms of the control thread. */
const eventBytesMax = 16_777_216;
/** Blocks kept as they are read; a shard that does not come to a checkpoint must not fill memory. */
const recentBlocksMax = 512;
/** Names of a whole range: no further bound than the days and months have. */
const rangeNamesMax = Number.MAX_SAFE_INTEGER;
/** Ids carry 40 bits of a position; with the time and the journal beside them that stays unique. */
const idPositions = 2 ** 40;

export interface Analytics {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  readonly devices: { readonly ios: number; readonly android: number; readonly other: number };
  readonly topCountries: ReadonlyArray<{ readonly code: string; readonly scans: number }>;
}
export const breakdowns = [
  'country',
  'city',
  'os',
  'browser',
  'device',
  'referer',
  'hour',
  'bot',
] as const;
export type BreakdownBy = (typeof breakdowns)[number];
export const intervals = ['hour', 'day'] as const;
export type Interval = (typeof intervals)[number];
export interface SeriesPoint {
  /** ISO 8601. */
  readonly start: string;
  readonly scans: number;
}
export interface BreakdownRow {
  readonly key: string;
  readonly scans: number;
}
export interface EventPage {
  readonly data: EventEnvelope[];
  /** Where the next older page begins; absent at the end. */
  readonly before?: string;
}

export interface ReportOptions {
  readonly namesPerDayMax: number;
  /** The public id of a code, undefined when it is gone for good. */
  readonly codeIdOf: (codeNo: number) => string | undefined;
}

export class ScanReport {
  readonly #store: ScanStore;
  readonly #options: ReportOptions;
  readonly #summaries: Summaries;
  /** Blocks since the oldest checkpoint, by sequence: immutable, so each is read once. */
  readonly #recent = new Map<number, ScanBlock>();
  #checkpoints: Float64Array = new Float64Array();
  #recentFrom = 0;
  #recentTo = 0;
  /** Sequence up to which blocks were too many to keep. */
  #droppedTo = 0;

  constructor(store: ScanStore, options: ReportOptions) {
    this.#store = store;
    this.#options = options;
    this.#summaries = new Summaries(store, options.namesPerDayMax);
  }

  /** All scans of a code, ever: what lists show. */
  lifetimeScans(codeNo: number): number {
    this.#snapshot();
    let total = this.#summaries.total(codeNo);
    this.#eachRecent(codeNo, (block, entry) => {
      if (block.bot(entry) === 0) total++;
    });
    return total;
  }

  /** @param fromDay @param toDay day numbers, both inclusive */
  analytics(codeNo: number, fromDay: number, toDay: number): Analytics {
    const { rollup, sketch } = this.range(codeNo, fromDay, toDay);
    const ios = rollup.get(Dimension.platform, Platform.ios);
    const android = rollup.get(Dimension.platform, Platform.android);
    return {
      totalScans: rollup.scans,
      uniqueScanners: Math.min(sketch.estimate(), rollup.scans),
      devices: { ios, android, other: rollup.get(Dimension.platform, Platform.other) },
      topCountries: rowsOf(rollup, 'country')
        .slice(0, topCountriesMax)
        .map(({ key, scans }) => ({ code: key, scans })),
    };
  }

  breakdown(codeNo: number, fromDay: number, toDay: number, by: BreakdownBy): BreakdownRow[] {
    return rowsOf(this.range(codeNo, fromDay, toDay).rollup, by);
  }

  /** Scans per UTC hour or day, one row for each in the range, zeros included. */
  timeseries(codeNo: number, fromDay: number, toDay: number, interval: Interval): SeriesPoint[] {
    const perDay = interval === 'hour' ? 24 : 1;
    const stepMs = dayMs / perDay;
    const counts = new Float64Array(Math.max(0, toDay - fromDay + 1) * perDay);
    this.#eachDay(codeNo, fromDay, toDay, (day, rollup) => {
      if (perDay === 1) counts[day - fromDay]! += rollup.scans;
      else
        for (let hour = 0; hour < 24; hour++) {
          counts[(day - fromDay) * 24 + hour]! += rollup.get(Dimension.hour, hour);
        }
    });
    return Array.from(counts, (scans, index) => ({
      start: isoTime(fromDay * dayMs + index * stepMs),
      scans,
    }));
  }

  /** Everything counted in a range, united: the base of all the above, and of campaigns. */
  range(codeNo: number, firstDay: number, lastDay: number): { rollup: Rollup; sketch: Sketch } {
    this.#snapshot();
    const [fromDay, toDay] = storedDays(firstDay, lastDay);
    const rollup = new Rollup(rangeNamesMax);
    const sketch = Sketch.empty();
    for (let month = monthOf(fromDay); month <= monthOf(toDay); month++) {
      const first = firstDayOf(month);
      const last = firstDayOf(month + 1) - 1;
      if (fromDay <= first && last <= toDay) {
        this.#summaries.addMonth(codeNo, month, rollup, sketch);
      } else {
        this.#mergeDays(codeNo, Math.max(first, fromDay), Math.min(last, toDay), rollup, sketch);
      }
    }
    const head = this.#summaries.head(codeNo);
    if (head !== undefined && isWithin(head.newestDay.day, fromDay, toDay)) {
      rollup.merge(head.newestDay.rollup);
      sketch.merge(head.newestDay.sketch);
    }
    this.#eachRecent(codeNo, (block, entry) => {
      if (isWithin(block.day(entry), fromDay, toDay)) {
        block.countInto(entry, rollup, sketch);
      }
    });
    return { rollup, sketch };
  }

  /**
   * `qr.scanned` events of a workspace, newest first.
   * @param before the `before` of the page above; @returns fewer than `limit` only when it looked through
   * `eventBlocksMax` blocks or `eventBytesMax` bytes, or came to the end
   */
  events(workspaceNo: number, before: string | undefined, limit: number): EventPage {
    this.#snapshot();
    const [fromSequence, skip] = parseCursor(before);
    const data: EventEnvelope[] = [];
    let looked = 0;
    let bytes = 0;
    const range = { start: fromSequence, reverse: true, limit: eventBlocksMax };
    for (const { key, value } of this.#store.blocks.range(range)) {
      looked++;
      bytes += value.length;
      const entries = this.#scansOf(new ScanBlock(value), workspaceNo);
      const skipped = key === fromSequence ? skip : 0;
      for (let at = skipped; at < entries.length; at++) {
        if (data.length === limit) return { data, before: `${key}.${at}` };
        data.push(entries[at]!());
      }
      const hasLookedEnough = looked === eventBlocksMax || bytes >= eventBytesMax;
      if (hasLookedEnough && key > 1) return { data, before: `${key - 1}.0` };
    }
    return { data };
  }

  /** The workspace's scans in a block, newest first, each made into an event only when asked for. */
  #scansOf(block: ScanBlock, workspaceNo: number): Array<() => EventEnvelope> {
    const found: Array<{ order: number; make: () => EventEnvelope }> = [];
    for (let group = 0; group < block.groups; group++) {
      if (block.workspaceNo(group) !== workspaceNo) continue;
      const qrId = this.#options.codeIdOf(block.codeNo(group));
      if (qrId === undefined) continue;
      const first = block.first(group);
      for (let entry = first; entry < first + block.count(group); entry++) {
        if (block.bot(entry) !== 0) continue;
        found.push({ order: block.timeMs(entry), make: () => scannedEvent(block, entry, qrId) });
      }
    }
    return found.sort((a, b) => b.order - a.order).map(({ make }) => make);
  }

  #mergeDays(codeNo: number, from: number, to: number, rollup: Rollup, sketch: Sketch): void {
    const range = { start: spanKey(codeNo, from), end: spanKey(codeNo, to + 1) };
    for (const key of this.#store.days.keys(range)) {
      this.#summaries.addDay(codeNo, spanOf(key), rollup, sketch);
    }
  }

  #eachDay(
    codeNo: number,
    firstDay: number,
    lastDay: number,
    visit: (day: number, rollup: Rollup) => void,
  ): void {
    this.#snapshot();
    const [fromDay, toDay] = storedDays(firstDay, lastDay);
    const range = { start: spanKey(codeNo, fromDay), end: spanKey(codeNo, toDay + 1) };
    for (const { key, value } of this.#store.days.range(range)) {
      visit(spanOf(key), this.#summaries.countsOf(value));
    }
    const head = this.#summaries.head(codeNo);
    if (head !== undefined && isWithin(head.newestDay.day, fromDay, toDay)) {
      visit(head.newestDay.day, head.newestDay.rollup);
    }
    const recent = new Map<number, Rollup>();
    const unused = Sketch.empty();
    this.#eachRecent(codeNo, (block, entry) => {
      const day = block.day(entry);
      if (!isWithin(day, fromDay, toDay)) return;
      const rollup = recent.get(day) ?? new Rollup(rangeNamesMax);
      block.countInto(entry, rollup, unused);
      recent.set(day, rollup);
    });
    for (const [day, rollup] of recent) visit(day, rollup);
  }

  /** Sees the newest commit, and takes up the blocks that came since. */
  #snapshot(): void {
    this.#store.environment.refresh();
    this.#checkpoints = readCheckpoints(this.#store);
    const from = Math.min(...this.#checkpoints);
    if (from > this.#recentFrom) {
      for (const sequence of this.#recent.keys()) {
        if (sequence <= from) this.#recent.delete(sequence);
      }
      this.#recentFrom = from;
      this.#recentTo = Math.max(this.#recentTo, from);
    }
    for (const { key, value } of this.#store.blocks.range({ start: this.#recentTo + 1 })) {
      this.#recent.set(key, new ScanBlock(value));
      this.#recentTo = key;
      if (this.#recent.size > recentBlocksMax) this.#dropOldestRecent();
    }
  }

  #dropOldestRecent(): void {
    for (const sequence of this.#recent.keys()) {
      this.#recent.delete(sequence);
      this.#droppedTo = sequence;
      return;
    }
  }

  /** Visits a code's scans since its checkpoint: in blocks kept, and before them in blocks read again. */
  #eachRecent(codeNo: number, visit: (block: ScanBlock, entry: number) => void): void {
    const checkpoint = this.#checkpoints[partitionOf(codeNo)]!;
    if (this.#droppedTo > checkpoint) {
      const range = { start: checkpoint + 1, end: this.#droppedTo + 1 };
      for (const { value } of this.#store.blocks.range(range)) {
        eachScan(new ScanBlock(value), codeNo, visit);
      }
    }
    for (const [sequence, block] of this.#recent) {
      if (sequence > checkpoint) eachScan(block, codeNo, visit);
    }
  }
}

function eachScan(
  block: ScanBlock,
  codeNo: number,
  visit: (block: ScanBlock, entry: number) => void,
): void {
  const group = block.find(codeNo);
  if (group === -1) return;
  const first = block.first(group);
  for (let entry = first; entry < first + block.count(group); entry++) visit(block, entry);
}

/** The part of a range that can hold scans: the API takes dates up to the year 9999. */
const storedDays = (fromDay: number, toDay: number): [fromDay: number, toDay: number] => [
  Math.max(0, fromDay),
  Math.min(toDay, dayStoredMax),
];
const isWithin = (day: number, from: number, to: number): boolean => day >= from && day <= to;

function rowsOf(rollup: Rollup, by: BreakdownBy): BreakdownRow[] {
  const rows = by === 'city' || by === 'referer' ? namedRows(rollup, by) : valueRows(rollup, by);
  return rows.sort((a, b) => b.scans - a.scans || (a.key < b.key ? -1 : 1));
}

const namedRows = (rollup: Rollup, by: 'city' | 'referer'): BreakdownRow[] =>
  Array.from(rollup.names(Dimension[by]), ({ name, count }) => ({ key: name, scans: count }));

const valueRows = (rollup: Rollup, by: BreakdownBy): BreakdownRow[] =>
  Array.from(rollup.values(Dimension[by]), ({ value, count }) => ({
    key: nameOf(by, value),
    scans: count,
  }));

function nameOf(by: BreakdownBy, value: number): string {
  switch (by) {
    case 'country':
      return countryCode(value);
    case 'os':
      return osNames[value] ?? 'other';
    case 'browser':
      return browserNames[value] ?? 'other';
    case 'device':
      return deviceNames[value] ?? 'other';
    case 'bot':
      return botReasonNames[value] ?? 'other';
    default:
      return String(value).padStart(2, '0');
  }
}

function scannedEvent(block: ScanBlock, entry: number, qrId: string): EventEnvelope {
  const timeMs = block.timeMs(entry);
  const position = block.position(entry) % idPositions;
  return {
    id: positionId('evt', timeMs, block.journal(entry), position),
    event: 'qr.scanned',
    createdAt: isoTime(timeMs),
    data: {
      qrId,
      scannedAt: isoTime(timeMs),
      country: block.country(entry),
      city: block.city(entry),
      device: deviceNames[block.device(entry)] ?? 'other',
      os: osNames[block.os(entry)] ?? 'other',
      referer: block.referer(entry) === '' ? null : block.referer(entry),
    },
  };
}

function parseCursor(before: string | undefined): [sequence: number, skip: number] {
  const match = before === undefined ? null : /^(\d{1,15})\.(\d{1,9})$/.exec(before);
  return match === null ? [Number.MAX_SAFE_INTEGER, 0] : [Number(match[1]), Number(match[2])];
}
