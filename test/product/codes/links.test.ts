/**
 * Codes in front of the real link table: their targets, limits and programs, as changes, a start, another process and a
 * repaired block give them to a redirect thread.
 */
import { expect, test } from 'vitest';
import { join } from 'node:path';
import { dataDamaged, Failure } from '../../../src/model/failure.ts';
import { RecordingLinks } from '../../support/fakes/recording-links.ts';
import { actor, openCodes, openTable, type CodesFixture, route } from './codes-fixture.ts';
import type { RouteConditions, Routing } from '../../../src/model/routing/routing.ts';
import { localMinutes } from '../../../src/model/zones/calendar.ts';
import { linksIn } from '../../../src/engine/links/link-blocks.ts';
import { readProgram } from '../../engine/links/table.ts';
import { soon } from '../../support/soon.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { openTestApp } from '../../support/test-app.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

const target = 'https://example.com/';

test('a limit that all nodes together have reached is closed, and gives what is left of it when it is raised', async () => {
  const { links, see } = openTable();
  const fixture = await openCodes({ links });
  const { codes, scans } = fixture;
  const made = await Promise.all(
    [5, 5, undefined].map((scanLimit) => codes.create(actor, { target, scanLimit })),
  );
  const [reached, open, free] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
  const seen = (code: typeof reached): string => see(code.shortCode ?? '');
  expect(made.map(seen)).toEqual([target, target, target]);
  // Counted of all nodes: this one gave one scan of each.
  for (const [code, count] of [
    [reached, 4],
    [open, 4],
    [free, 99],
  ] as const)
    scans.set(code.no, count);
  await codes.links.closeLimits();
  expect(made.map(seen)).toEqual([target, target, target]);
  scans.set(reached.no, 7);
  await codes.links.closeLimits();
  expect(made.map(seen)).toEqual(['over its limit', target, target]);
  await codes.change(actor, reached.id, { target: 'https://example.org/' });
  expect(seen(reached)).toBe('over its limit');
  await codes.links.closeLimits();
  expect(seen(reached)).toBe('over its limit');
  scans.set(reached.no, 8);
  await codes.change(actor, reached.id, { scanLimit: 10 });
  await codes.links.closeLimits();
  expect([seen(reached), seen(reached), seen(reached)]).toEqual([
    'https://example.org/',
    'https://example.org/',
    'over its limit',
  ]);
  await codes.change(actor, reached.id, { scanLimit: null });
  scans.set(open.no, 5);
  await codes.delete(actor, open.id);
  await codes.links.closeLimits();
  expect(made.map(seen)).toEqual(['https://example.org/', 'gone', target]);
});

test('limits are closed however many there are, but for those that another process counts down', async () => {
  const { links, see } = openTable();
  const fixture = await openCodes({ links });
  const { codes, scans } = fixture;
  const made = [];
  for (let at = 0; at < 250; at++) {
    const code = await codes.create(actor, { target, scanLimit: 2 });
    scans.set(code.no, 2);
    made.push(code.shortCode ?? '');
  }
  await codes.links.closeLimits();
  expect(new Set(made.map(see))).toEqual(new Set(['over its limit']));
});

test('a code that another process limits while a start loads is refused until all is counted', async () => {
  const { links, see } = openTable();
  const fixture = await openCodes();
  const code = await fixture.codes.create(actor, { target, slug: 'limited' });
  const { links: loader } = fixture.open({ links });
  loader.load();
  await fixture.codes.change(actor, code.id, { scanLimit: 2 });
  fixture.scans.set(code.no, 1);
  loader.publishMany([code.no]);
  expect(see('limited')).toBe('gone');
  loader.loadLimited();
  expect([see('limited'), see('limited')]).toEqual([target, 'over its limit']);
});

test('a limit whose scans cannot be read is refused until they can', async () => {
  const { links, see } = openTable();
  let scans: number | undefined;
  const scansOf = (): number => {
    if (scans === undefined) throw dataDamaged('The numbers are damaged');
    return scans;
  };
  const fixture = await openCodes({ links, scansOf });
  const code = await fixture.codes.create(actor, { target, scanLimit: 3 });
  const short = code.shortCode ?? '';
  expect([see(short), fixture.codes.links.damagedCount]).toEqual(['damaged', 1]);
  scans = 2;
  fixture.codes.links.publishPending();
  expect([see(short), see(short)]).toEqual([target, 'over its limit']);
  expect(fixture.codes.links.damagedCount).toBe(0);
});

test('a link that does not fit is put in later', async () => {
  const links = new RecordingLinks();
  let full = true;
  const fixture = await openCodes({
    links: {
      bulkLoad: (link) => links.bulkLoad(link),
      put(link) {
        if (full) throw new Failure('storage_full', 'The link table is full');
        links.put(link);
      },
      delete: (key) => links.delete(key),
      addScans: (key, scans) => links.addScans(key, scans),
      takeScansLeft: (key: string) => links.takeScansLeft(key),
    },
  });
  const work = fixture.codes.create(actor, { target, slug: 'late', scanLimit: 5 });
  await expect(work).rejects.toMatchObject({ code: 'storage_full' });
  expect(fixture.codes.links.pendingCount).toBe(1);
  full = false;
  await fixture.codes.create(actor, { target, slug: 'next' });
  expect(fixture.codes.links.pendingCount).toBe(0);
  expect(links.live.get('LATE')?.scansLeft).toBe(5);
});

const plain = 'https://example.com/plain';

/** Codes behind a real link table, loaded as a start loads it. */
function start(fixture: CodesFixture) {
  const { links, reader } = openTable();
  const codes = fixture.open({ links });
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
