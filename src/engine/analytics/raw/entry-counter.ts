/** Counts the entries that match a query, as live counting does (block.ts): 0.1 µs for each entry, 0.4 for a match. */
import { quarterMs } from '../../../model/day.ts';
import type { CodeNo } from '../../../model/numbers.ts';
import { browserNames, countryNumber, deviceNames, osNames } from '../../../model/scan.ts';
import { Sketch } from '../../../model/sketch/sketch.ts';
import type { ScanBlock } from '../../counting/block.ts';
import { Rollup } from '../../counting/rollup.ts';
import type { ScanFilter } from '../filter.ts';
import { isWithin } from '../spans.ts';
import type { RawQuery } from './raw-query.ts';

/** Cities and referer hosts of an answer; the rest is `other`. */
export const rawNamesMax = 10_000;

type Matches = (block: ScanBlock, entry: number) => boolean;

export class EntryCounter {
  readonly #query: RawQuery;
  readonly #matches: readonly Matches[];
  readonly #wanted: ReadonlySet<CodeNo> | undefined;
  readonly rollup = new Rollup(rawNamesMax);
  readonly sketch = Sketch.empty();
  readonly codes = new Map<CodeNo, number>();
  readonly quarters: Float64Array;
  all = 0;

  constructor(query: RawQuery) {
    const { codes, filter, fromMs, endMs } = query;
    this.#query = query;
    this.#matches = matchesOf(filter);
    this.#wanted = codes && new Set(codes);
    this.quarters = new Float64Array(Math.ceil((endMs - fromMs) / quarterMs));
  }

  firstWanted(block: ScanBlock): number {
    for (let group = 0; group < block.groups; group++) {
      if (this.#isWanted(block, group)) return group;
    }
    return -1;
  }

  count(block: ScanBlock, from: number): void {
    for (let group = from; group < block.groups; group++) {
      if (!this.#isWanted(block, group)) continue;
      const scans = this.#countGroup(block, group);
      const codeNo = block.codeNo(group);
      if (scans > 0) this.codes.set(codeNo, (this.codes.get(codeNo) ?? 0) + scans);
    }
  }

  #countGroup(block: ScanBlock, group: number): number {
    const { fromMs, of } = this.#query;
    const lastQuarter = this.quarters.length - 1;
    const first = block.first(group);
    const end = first + block.count(group);
    let scans = 0;
    for (let entry = first; entry < end; entry++) {
      const timeMs = block.timeMs(entry);
      if (!isWithin(timeMs, this.#query)) continue;
      if (block.isScan(entry)) this.all++;
      if (!this.#isMatch(block, entry)) continue;
      if (!block.countInto(entry, this.rollup, this.sketch, of)) continue;
      scans++;
      // Times that the store cannot name count at the edge.
      const quarter = Math.floor((timeMs - fromMs) / quarterMs);
      this.quarters[Math.max(0, Math.min(quarter, lastQuarter))]!++;
    }
    return scans;
  }

  #isMatch(block: ScanBlock, entry: number): boolean {
    for (const matches of this.#matches) if (!matches(block, entry)) return false;
    return true;
  }

  #isWanted(block: ScanBlock, group: number): boolean {
    const { workspaceNo } = this.#query;
    if (workspaceNo !== undefined && workspaceNo !== block.workspaceNo(group)) return false;
    return this.#wanted === undefined || this.#wanted.has(block.codeNo(group));
  }
}

/** The tests of a filter, by the words of breakdowns (engine/analytics/answers.ts), the cheapest first. */
function matchesOf({ country, city, ...words }: ScanFilter): Matches[] {
  const { device, os, browser, referer, routes } = words;
  const matches: Matches[] = [];
  const isNamed = (names: readonly string[], number: number, wanted: string): boolean =>
    (names[number] ?? 'other') === wanted;
  if (device !== undefined) matches.push((b, at) => isNamed(deviceNames, b.device(at), device));
  if (os !== undefined) matches.push((b, at) => isNamed(osNames, b.os(at), os));
  if (browser !== undefined) matches.push((b, at) => isNamed(browserNames, b.browser(at), browser));
  if (routes !== undefined) matches.push((b, at) => routes.includes(b.route(at)));
  if (country !== undefined) {
    const number = countryNumber(country);
    matches.push((b, at) => b.countryNumber(at) === number);
  }
  if (city !== undefined) matches.push((b, at) => b.namedCity(at) === city);
  if (referer !== undefined) matches.push((b, at) => b.host(at) === referer);
  return matches;
}
