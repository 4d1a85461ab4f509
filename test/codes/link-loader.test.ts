import { expect, test } from 'vitest';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { LinkReader } from '../../src/links/reader.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { dataDamaged, Failure } from '../../src/model/failure.ts';
import { RecordingLinks } from '../support/fakes/recording-links.ts';
import { actor, openCodes } from './codes-fixture.ts';
import { systemClock } from '../../src/system-clock.ts';

const target = 'https://example.com/';

/** A codes in front of the real shared-memory table, and what a redirect thread sees in it. */
function openTable() {
  const memory = createLinkTableMemory({
    slotBytesMax: 1_048_576,
    arenaBytesMax: 16_777_216,
    readersMax: 1,
    linksExpected: 16,
  });
  const reader = new LinkReader(memory, 0);
  const links = new LinkWriter(memory, systemClock);
  const see = (code: string): string => {
    reader.enter();
    try {
      const handle = reader.find(`/${code}`, 1);
      if (handle === 0) return 'unknown';
      const state = reader.state(handle);
      if (state !== 'live') return state === 'deleted' ? 'gone' : state;
      if (!reader.takeScan(handle)) return 'over its limit';
      return Buffer.from(reader.target(handle)).toString('latin1');
    } finally {
      reader.leave();
    }
  };
  return { links, see };
}

test('what the codes has committed is what a reader of the real table sees', async () => {
  const { links, see } = openTable();
  const fixture = await openCodes({ links });
  const code = await fixture.codes.create(actor, { target, slug: 'Real-Code' });
  expect(see('real-code')).toBe(target);
  await fixture.codes.change(actor, code.id, { target: 'https://example.org' });
  expect(see('REAL-CODE')).toBe('https://example.org/');
  await fixture.codes.delete(actor, code.id);
  expect(see('Real-Code')).toBe('gone');
  expect(see('other')).toBe('unknown');
});

test('a limit is exact through re-targets, and starts anew when it changes', async () => {
  const { links, see } = openTable();
  const fixture = await openCodes({ links });
  const code = await fixture.codes.create(actor, { target, scanLimit: 3 });
  const short = code.shortCode ?? '';
  expect(see(short)).toBe(target);
  await fixture.codes.change(actor, code.id, { target: 'https://example.org/' });
  expect([see(short), see(short), see(short)]).toEqual([
    'https://example.org/',
    'https://example.org/',
    'over its limit',
  ]);
  fixture.scans.set(code.no, 3);
  await fixture.codes.change(actor, code.id, { scanLimit: 4 });
  expect([see(short), see(short)]).toEqual(['https://example.org/', 'over its limit']);
  await fixture.codes.change(actor, code.id, { scanLimit: null });
  expect(see(short)).toBe('https://example.org/');
});

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

test('a start fills the real table, tombstones too', async () => {
  const fixture = await openCodes();
  const kept = await fixture.codes.create(actor, { target, slug: 'kept' });
  const deleted = await fixture.codes.create(actor, { target, slug: 'deleted' });
  await fixture.codes.delete(actor, deleted.id);
  const { links, see } = openTable();
  await fixture.restart({ links });
  expect(fixture.store.last('code')).toBe(2);
  expect([see('kept'), see('deleted')]).toEqual([target, 'gone']);
  await fixture.codes.change(actor, kept.id, { target: 'https://example.org/' });
  expect(see('kept')).toBe('https://example.org/');
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
