/** Programs of codes from their records to the link table: by a change, a start, and a repaired block. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressSpace, createLinkTableMemory } from '../../../src/links/layout.ts';
import { LinkReader } from '../../../src/links/reader.ts';
import { LinkWriter } from '../../../src/links/writer.ts';
import type { RouteConditions, Routing } from '../../../src/model/routing/routing.ts';
import { localMinutes } from '../../../src/model/zones/calendar.ts';
import { linksIn } from '../../../src/store/management/link-blocks.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { actor, type CodesFixture, openCodes } from '../codes-fixture.ts';
import { readProgram } from '../../links/table.ts';
import { soon } from '../../support/soon.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { openTestApp } from '../../support/test-app.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { route } from './routed-codes.ts';

const plain = 'https://example.com/plain';

/** Codes behind a real link table, loaded as a start loads it. */
function start(fixture: CodesFixture) {
  const memory = createLinkTableMemory({ ...addressSpace, readersMax: 1, linksExpected: 16 });
  const codes = fixture.open({ links: new LinkWriter(memory, systemClock) });
  const reader = new LinkReader(memory, 0);
  codes.links.load();
  /** What the program of a link says, `plain` without one, or the state of what is not live. */
  const says = (key: string): string => {
    const handle = reader.find(key, 0);
    if (handle === 0) return 'unknown';
    const state = reader.state(handle);
    return state === 'live' ? (readProgram(reader, handle) ?? 'plain') : state;
  };
  /** What a program's first window takes for the local time. */
  const clock = (key: string, nowMs: number): number => {
    let minutes = 0;
    readProgram(reader, reader.find(key, 0), (zone) => {
      return (minutes = reader.localMinutes(zone, nowMs));
    });
    return minutes;
  };
  return { codes, says, clock };
}

const leading = (to: string, conditions: RouteConditions = {}): Partial<Routing> => ({
  rules: [{ label: 'led', if: conditions, then: { target: `https://example.com/${to}` } }],
});
const led = (to: string): string => `0 false false  1 https://example.com/${to}`;
const zoned = (to: string): Partial<Routing> => ({
  rules: [
    { label: 'zoned', if: { time: { timezone: 'Asia/Kathmandu' } }, then: { target: plain } },
    ...leading(to).rules!,
  ],
});
/** A window without bounds holds at any time. */
const zonedSays = `0 false false  1 ${plain}`;

test('a start has every program, and what changes since', async () => {
  const fixture = await openCodes();
  const { store } = fixture;
  const first = start(fixture);
  const { codes } = first;
  const make = async (slug: string, fields: Partial<Routing> | undefined, more: object = {}) => {
    const code = await codes.create(actor, { target: plain, slug, ...more });
    return await route(store, codes, code, fields);
  };
  await make('kept', leading('kept'));
  const moved = await make('moved', leading('before'));
  const ended = await make('ended', leading('ended'));
  await make('clock', zoned('clock'));
  const unclocked = await make('unclocked', zoned('unclocked'));
  await make('limited', zoned('limited'), { scanLimit: 9 });
  const emptied = await make('emptied', leading('emptied'));
  codes.links.loadLimited();
  const keys = ['KEPT', 'MOVED', 'ENDED', 'CLOCK', 'UNCLOCKED', 'LIMITED', 'EMPTIED'];
  const loaded = [led('kept'), led('before'), led('ended'), zonedSays, zonedSays, zonedSays];
  expect(keys.map(first.says)).toEqual([...loaded, led('emptied')]);

  await route(store, codes, moved, leading('after'));
  await codes.delete(actor, ended.id);
  await route(store, codes, emptied, undefined);
  const again = start(fixture);
  const before = [led('kept'), led('after'), 'deleted', zonedSays, zonedSays, 'unknown', 'plain'];
  expect(keys.map(again.says)).toEqual(before);
  await route(store, again.codes, unclocked, leading('unclocked'));
  again.codes.links.loadLimited();
  const after = [led('kept'), led('after'), 'deleted', zonedSays, led('unclocked'), zonedSays];
  expect(keys.map(again.says)).toEqual([...after, 'plain']);
  const nowMs = Date.now();
  for (const key of ['CLOCK', 'LIMITED']) {
    expect(again.clock(key, nowMs)).toBe(localMinutes('Asia/Kathmandu', nowMs));
  }
});

test('a damaged block gets its programs from the records, byte for byte, also by odd names', async () => {
  const dataDir = temporaryFolder();
  const first = await openTestApp({ dataDir, plan: 'none' });
  const { store, codes } = first;
  const odd = {
    query: Object.fromEntries([
      ['hasOwnProperty', '1'],
      ['constructor', '*'],
      ['\u4e2d', 'x'],
    ]),
  };
  const fields: Array<Partial<Routing> | undefined> = [
    leading('a', odd),
    { paused: true, fallbackUrl: 'https://example.com/b', passQuery: true },
    { split: ['x', 'y'].map((label) => ({ label, weight: 7, target: plain })), startsAtMs: 9 },
    undefined,
    { ...zoned('d'), utm: { source: '{slug}', campaign: 'c d' } },
  ];
  for (const one of fields) {
    const code = await codes.create(actor, { target: plain });
    await route(store, codes, code, one);
  }
  const before = linksIn(0, store.links.get(0)!);
  expect(before.map(({ program }) => program === undefined)).toEqual([
    false,
    false,
    false,
    true,
    false,
  ]);
  await first.close();
  const stored = new StoredBytes(join(dataDir, 'management.mdb'));
  for (const key of stored.keys('links')) stored.flip('links', key, 12_345);
  await stored.close();
  const again = await openTestApp({ dataDir, plan: 'none' });
  again.codes.links.load();
  expect(again.codes.links.repairedBlocks).toBe(1);
  const block = (): Uint8Array | undefined => again.store.links.get(0, () => undefined);
  await expect.poll(block, soon).toBeDefined();
  expect(linksIn(0, block()!)).toEqual(before);
});
