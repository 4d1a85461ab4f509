/** A store of blocks as shards write them, and what a query must answer, counted entry by entry as live counting does. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browserNames, countryNumber, deviceNames, osNames } from '../../../../src/model/scan.ts';
import { Sketch } from '../../../../src/model/sketch/sketch.ts';
import { refererHost, ScanBlock } from '../../../../src/engine/counting/block.ts';
import { quarterMs } from '../../../../src/model/day.ts';
import { rawNamesMax } from '../../../../src/engine/analytics/raw/entry-counter.ts';
import type { RawAnswer, RawQuery } from '../../../../src/engine/analytics/raw/raw-query.ts';
import { isWithin } from '../../../../src/engine/analytics/spans.ts';
import { Dimension, Rollup } from '../../../../src/engine/counting/rollup.ts';
import { type Scan, setBlockSequence, Window } from '../../../../src/engine/counting/window.ts';
import { openScanStore, type ScanStore } from '../../../../src/store/scans/scans.ts';

export type StoredScans = ReturnType<typeof openStoredScans>;

export function openStoredScans() {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-raw-'));
  const path = join(folder, 'scans.mdb');
  const store = openScanStore(path, 'create');
  const window = new Window();
  let sequence = 0;
  const put = (scans: readonly Scan[]): void => {
    window.clear();
    for (const scan of scans) window.add(scan);
    const block = window.close(sequence % 4, () => 0);
    setBlockSequence(block, ++sequence);
    store.blocks.put(sequence, block);
    store.meta.put('sequence', sequence);
  };
  return {
    store,
    path,
    /** Puts a block behind all others. */
    add: (...scans: Scan[]) => store.environment.transactionSync(() => put(scans)),
    /** Instead of all that it has. */
    fill: (blocks: ReadonlyArray<{ readonly scans: readonly Scan[] }>) => {
      store.environment.transactionSync(() => {
        for (; sequence > 0; sequence--) store.blocks.remove(sequence);
        for (const { scans } of blocks) put(scans);
      });
    },
    close: async () => {
      await store.environment.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Of a person with an iPhone in Germany. */
export const storedScan = (more: Partial<Scan>): Scan => ({
  codeNo: 2,
  workspaceNo: 1,
  timeMs: 0,
  journal: 0,
  position: 0,
  visitorHigh: 0,
  visitorLow: 0,
  country: countryNumber('DE'),
  city: '',
  referer: '',
  device: 1,
  platform: 1,
  os: 1,
  browser: 1,
  bot: 0,
  route: 0,
  ...more,
});

type Entry = readonly [block: ScanBlock, entry: number, codeNo: number];

function* entriesOf(store: ScanStore, query: RawQuery): Generator<Entry> {
  const { codes, workspaceNo } = query;
  for (const { value } of store.blocks.range({})) {
    const block = new ScanBlock(value);
    for (let group = 0; group < block.groups; group++) {
      const codeNo = block.codeNo(group);
      const isOther = workspaceNo !== undefined && block.workspaceNo(group) !== workspaceNo;
      if (isOther || codes?.includes(codeNo) === false) continue;
      const end = block.first(group) + block.count(group);
      for (let entry = block.first(group); entry < end; entry++) yield [block, entry, codeNo];
    }
  }
}

function matches([block, entry]: Entry, { filter }: RawQuery): boolean {
  const city = block.city(entry);
  const named = city === '' ? '' : `${city}, ${block.country(entry)}`;
  const is = (wanted: string | undefined, found: string): boolean =>
    wanted === undefined || wanted === found;
  return (
    is(filter.country, block.country(entry)) &&
    is(filter.city, named) &&
    is(filter.device, deviceNames[block.device(entry)]!) &&
    is(filter.os, osNames[block.os(entry)]!) &&
    is(filter.browser, browserNames[block.browser(entry)]!) &&
    is(filter.referer, refererHost(block.referer(entry))) &&
    (filter.routes === undefined || filter.routes.includes(block.route(entry)))
  );
}

/** Counted one by one; cities have the country of their scan. */
export function plainAnswer(store: ScanStore, query: RawQuery): RawAnswer {
  const rollup = new Rollup(rawNamesMax);
  const sketch = Sketch.empty();
  const codes = new Map<number, number>();
  let all = 0;
  const quarters = new Float64Array(Math.ceil((query.endMs - query.fromMs) / quarterMs));
  for (const entry of entriesOf(store, query)) {
    const [block, at, codeNo] = entry;
    const timeMs = block.timeMs(at);
    if (!isWithin(timeMs, query)) continue;
    if (block.isScan(at)) all++;
    if (!matches(entry, query)) continue;
    if (!block.countInto(at, rollup, sketch, query.of)) continue;
    codes.set(codeNo, (codes.get(codeNo) ?? 0) + 1);
    const quarter = Math.floor((timeMs - query.fromMs) / quarterMs);
    quarters[Math.max(0, Math.min(quarter, quarters.length - 1))]!++;
  }
  return { rollup, sketch, quarters, codes, all, damagedBlocks: 0 };
}

/** All that an answer says, in an order of its own. */
export function shownAnswer({ rollup, sketch, codes, quarters, all, damagedBlocks }: RawAnswer) {
  const counts = Object.values(Dimension).map((dimension) =>
    Array.from(rollup.values(dimension), ({ value, count }) => `${value}: ${count}`).sort(),
  );
  const names = ([Dimension.city, Dimension.referer] as const).map((dimension) =>
    Array.from(rollup.names(dimension), ({ name, count }) => `${name}: ${count}`).sort(),
  );
  const visitors = Sketch.empty();
  visitors.merge(sketch);
  const chunks = visitors.dirtyChunks().map((index) => {
    return `${index}: ${createHash('md5').update(visitors.chunkBytes(index)).digest('hex')}`;
  });
  return {
    scans: rollup.scans,
    counts,
    names,
    inline: Buffer.from(visitors.inlineBytes()).toString('hex'),
    chunks,
    codes: [...codes].sort(([one], [other]) => one - other),
    quarters: [...quarters],
    all,
    damagedBlocks,
  };
}
