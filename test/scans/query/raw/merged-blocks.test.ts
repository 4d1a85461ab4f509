/** Small blocks in one: what a query reads of it is what they have, and they stay what counts. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { partitionCount } from '../../../../src/model/code.ts';
import { dayMs } from '../../../../src/model/day.ts';
import { dataDamaged } from '../../../../src/model/failure.ts';
import { countryNumber } from '../../../../src/model/scan.ts';
import { expireBlocks } from '../../../../src/scans/block-retention.ts';
import { blockHeaderBytes, groupBytes, ScanBlock } from '../../../../src/scans/block.ts';
import { BlockMerger, mergeSizes } from '../../../../src/scans/query/raw/merged-blocks.ts';
import type { RawQuery } from '../../../../src/scans/query/raw/raw-query.ts';
import { countRaw } from '../../../../src/scans/query/raw/raw-walk.ts';
import type { Scan } from '../../../../src/scans/window.ts';
import { writeCheckpoints } from '../../../../src/store/scans/scans.ts';
import { StoredBytes } from '../../../support/stored-bytes.ts';
import { EngineHarness } from '../../engine-harness.ts';
import { openStoredScans, plainAnswer, shownAnswer, type StoredScans } from './stored-scans.ts';

const baseMs = 20_700 * dayMs;
const sizes = { ...mergeSizes, blocksMax: 20, blocksMin: 4 };
const query: RawQuery = {
  workspaceNo: 1,
  spans: [{ fromMs: baseMs, endMs: baseMs + 40 * dayMs }],
  filter: { city: 'Ulm, DE' },
  of: 'workspaces',
  namesMax: 100,
};

let stored: StoredScans;
let made = 0;
beforeEach(() => {
  stored = openStoredScans();
  made = 0;
});
afterEach(async () => await stored.close());

/** One a minute, of five codes and two cities. */
function nextScan(): Scan {
  const no = made++;
  return {
    codeNo: 1 + (no % 5),
    workspaceNo: 1,
    timeMs: baseMs + no * 60_000,
    journal: 0,
    position: no,
    visitorHigh: Math.imul(no, 0x9e3779b1) >>> 0,
    visitorLow: no,
    country: countryNumber('DE'),
    city: no % 3 === 0 ? 'Ulm, DE' : 'Bonn, DE',
    referer: no % 4 === 0 ? 'https://example.org/' : '',
    device: 1,
    platform: 1,
    os: 1,
    browser: 1,
    bot: 0,
    route: 0,
  };
}

const addScans = (count: number): number =>
  stored.add(...Array.from({ length: count }, () => nextScan()));
function addSmall(blocks: number): void {
  for (let block = 0; block < blocks; block++) addScans(1 + (block % 2));
}

/** First and last sequence of each merged block, and how many scans it has. */
const merged = (): number[][] =>
  Array.from(stored.store.mergedBlocks.range({}), ({ key, value }) => {
    const block = new ScanBlock(value);
    return [key, block.sequence, block.entries];
  });
const answer = (more: Partial<RawQuery> = {}) =>
  shownAnswer(countRaw(stored.store, { ...query, ...more }));
const plain = (more: Partial<RawQuery> = {}) =>
  shownAnswer(plainAnswer(stored.store, { ...query, ...more }));

describe('small blocks', () => {
  it('are merged once there are enough, and read as one', () => {
    addSmall(18);
    expect(stored.merge(sizes)).toBe(0);
    addSmall(31);
    stored.merge(sizes);
    expect(merged()).toEqual([
      [1, 20, 30],
      [21, 40, 30],
    ]);
    const read = vi.spyOn(stored.store.blocks, 'isSound');
    expect(answer().scans).toBe(plain().scans);
    expect(read.mock.calls.map(([sequence]) => sequence)).toEqual([
      41, 42, 43, 44, 45, 46, 47, 48, 49,
    ]);
    expect(answer()).toEqual(plain());
    // A query of an earlier snapshot ends within one: its blocks are read themselves.
    expect(answer({ toSequence: 25 })).toEqual(plain({ toSequence: 25 }));
    // One that begins within one, too.
    const spans = [{ fromMs: baseMs + 30 * 60_000, endMs: baseMs + 45 * 60_000 }];
    expect(answer({ spans })).toEqual(plain({ spans }));
  });

  it('are not merged over a large one, nor where few follow one another', () => {
    addSmall(6);
    addScans(sizes.entriesMax + 1);
    addSmall(3);
    addScans(sizes.entriesMax + 1);
    addSmall(9);
    stored.merge(sizes);
    expect(merged()).toEqual([
      [1, 6, 9],
      [12, 20, 13],
    ]);
    expect(answer()).toEqual(plain());
  });

  it('are not merged over a damaged one, which a query then names', async () => {
    addSmall(20);
    const bytes = new StoredBytes(stored.path);
    bytes.flip('blocks', bytes.keys('blocks')[7]!, 8 * 70);
    stored.store.environment.refresh();
    stored.merge(sizes);
    expect(merged().map(([first, last]) => [first, last])).toEqual([
      [1, 7],
      [9, 20],
    ]);
    expect(answer().damagedBlocks).toBe(1);
    await bytes.close();
  });

  it('are not merged over one whose content lies beyond it, which only a sound checksum hides', () => {
    const wrong: Array<(block: Buffer) => void> = [
      (block) => block.writeUInt32LE(1_000_000, blockHeaderBytes + 12),
      (block) => block.writeUInt32LE(9, blockHeaderBytes + 2 * groupBytes + 28),
      (block) => block.writeUInt32LE(1_000_000, 28),
    ];
    addSmall(10 * (wrong.length + 1));
    const { store } = stored;
    for (const [at, damage] of wrong.entries()) {
      const block = Buffer.from(store.blocks.get(10 * (at + 1))!);
      damage(block);
      store.environment.transactionSync(() => store.blocks.put(10 * (at + 1), block));
    }
    stored.merge(sizes);
    expect(merged().map(([first, last]) => [first, last])).toEqual([
      [1, 9],
      [11, 19],
      [21, 29],
      [31, 40],
    ]);
    expect(answer().damagedBlocks).toBeGreaterThan(0);
  });
});

describe('a merged block', () => {
  it('that is damaged is not read: its blocks are', async () => {
    addSmall(50);
    stored.merge(sizes);
    const wanted = plain();
    const bytes = new StoredBytes(stored.path);
    const [first] = bytes.keys('merged_blocks');
    for (const bit of [0, 8 * 6, 8 * 14, 8 * 400]) {
      bytes.flip('merged_blocks', first!, bit);
      stored.store.environment.refresh();
      expect(answer()).toEqual(wanted);
      bytes.flip('merged_blocks', first!, bit);
    }
    expect(stored.store.environment.damage.places.map(({ table }) => table)).toContain(
      'merged_blocks',
    );
    await bytes.close();
    // A backup goes on: what it is made of is sound.
    const audited = Array.from(stored.store.environment.audit(), ({ table }) => table);
    expect([audited.includes('blocks'), audited.includes('merged_blocks')]).toEqual([true, false]);
  });

  it('leaves with the first of its blocks that expires', () => {
    addSmall(40);
    stored.merge(sizes);
    const { store } = stored;
    const nowMs = baseMs + dayMs + 35 * 60_000;
    const retention = { nowMs, rawRetentionDays: 1, doneTo: 40, limit: 100 };
    store.environment.transactionSync(() => expireBlocks(store, retention));
    expect([...store.blocks.keys({ limit: 1 })]).toEqual([24]);
    expect(merged()).toEqual([]);
    expect(answer()).toEqual(plain());
  });
});

it('a page that cannot be read ends merging, and nothing else', () => {
  const { store } = stored;
  addSmall(mergeSizes.blocksMax);
  store.environment.transactionSync(() => {
    for (const counted of ['codes', 'workspaces'] as const) {
      writeCheckpoints(store, new Float64Array(partitionCount).fill(mergeSizes.blocksMax), counted);
    }
  });
  const read = vi.spyOn(store.blocks, 'eachInPlace').mockImplementation(() => {
    throw dataDamaged('A page is damaged');
  });
  const merger = new BlockMerger(store, 30);
  merger.run();
  merger.run();
  expect(read).toHaveBeenCalledOnce();
  read.mockRestore();
  new BlockMerger(store, 0).run();
  expect(merged()).toEqual([]);
  new BlockMerger(store, 30).run();
  expect(merged()).toHaveLength(1);
});

it('a shard merges what it has counted, and goes on with it after a restart', async () => {
  const engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 100_000,
    actorsMax: 10,
    rawRetentionDays: 30,
    codeOf: () => ({ id: 'qr_1' }),
  });
  engine.nowMs = baseMs;
  const scanAlone = (count: number): void => {
    for (let scan = 0; scan < count; scan++) {
      engine.nowMs += 1_000;
      engine.scan(0, engine.nowMs, [
        {
          codeNo: 1 + (scan % 7),
          workspaceNo: 1,
          agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X)',
          referer: '',
          address: Uint8Array.of(192, 0, 2, scan % 200),
          isPrefetch: false,
        },
      ]);
      engine.cycle(0);
    }
  };
  try {
    engine.startShards(1);
    scanAlone(mergeSizes.blocksMax + 100);
    engine.startShards(1);
    scanAlone(mergeSizes.blocksMax);
    engine.checkpoint(0);
    const { store } = engine;
    store.environment.refresh();
    expect([...store.mergedBlocks.keys({})]).toEqual([1, mergeSizes.blocksMax + 1]);
    const asked = { ...query, filter: { os: 'iOS' } };
    const found = shownAnswer(countRaw(store, asked));
    expect(found.scans).toBe(2 * mergeSizes.blocksMax + 100);
    expect(found).toEqual(shownAnswer(plainAnswer(store, asked)));
  } finally {
    await engine.close();
  }
});
