/** Counts raw scans, block by block, from the first that can have scans of the spans to the newest. */
import { Sketch } from '../../../model/sketch/sketch.ts';
import { quarterMs } from '../../../model/zones/calendar.ts';
import { browserNames, deviceNames, osNames } from '../../../model/scan.ts';
import type { ScanStore } from '../../../store/scans/scans.ts';
import { refererHost, type ScanBlock } from '../../block.ts';
import { Rollup } from '../../rollup.ts';
import { storedBlocks } from '../../stored-blocks.ts';
import type { ScanFilter } from '../filter.ts';
import { isWithin } from '../spans.ts';
import type { RawAnswer, RawQuery } from './raw-query.ts';

export function countRaw(store: ScanStore, query: RawQuery): RawAnswer {
  const { spans, codes, workspaceNo, filter, namesMax, of } = query;
  const rollup = new Rollup(namesMax);
  const sketch = Sketch.empty();
  const quarters = spans.map(
    ({ fromMs, endMs }) => new Float64Array(Math.ceil((endMs - fromMs) / quarterMs)),
  );
  const all = spans.map(() => 0);
  const byCode = new Map<number, number>();
  const wanted = codes && new Set(codes);
  for (const [, block] of storedBlocks(store, {})) {
    if (block === undefined) continue;
    for (let group = 0; group < block.groups; group++) {
      const codeNo = block.codeNo(group);
      if (workspaceNo !== undefined && block.workspaceNo(group) !== workspaceNo) continue;
      if (wanted !== undefined && !wanted.has(codeNo)) continue;
      const first = block.first(group);
      for (let entry = first; entry < first + block.count(group); entry++) {
        const timeMs = block.timeMs(entry);
        const at = spans.findIndex((span) => isWithin(timeMs, span));
        if (at === -1) continue;
        if (block.isScan(entry)) all[at]!++;
        if (!matches(block, entry, filter)) continue;
        if (!block.countInto(entry, rollup, sketch, of)) continue;
        quarters[at]![Math.floor((timeMs - spans[at]!.fromMs) / quarterMs)]!++;
        byCode.set(codeNo, (byCode.get(codeNo) ?? 0) + 1);
      }
    }
  }
  return { rollup, sketch, quarters, codes: byCode, all };
}

function matches(block: ScanBlock, entry: number, filter: ScanFilter): boolean {
  const { country, city, device, os, browser, referer, routes } = filter;
  return (
    (country === undefined || block.country(entry) === country) &&
    (city === undefined || block.namedCity(entry) === city) &&
    (device === undefined || deviceNames[block.device(entry)] === device) &&
    (os === undefined || osNames[block.os(entry)] === os) &&
    (browser === undefined || browserNames[block.browser(entry)] === browser) &&
    (referer === undefined || refererHost(block.referer(entry)) === referer) &&
    (routes === undefined || routes.includes(block.route(entry)))
  );
}
