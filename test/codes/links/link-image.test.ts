/** A start from the image has every link as the store has it, whatever happened to store, image and numbers. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Codes } from '../../../src/codes/codes.ts';
import { Failure } from '../../../src/model/failure.ts';
import type { LinkWriter } from '../../../src/links/writer.ts';
import { linkChangesKept } from '../../../src/store/management/link-changes.ts';
import { actor, type CodesFixture, openCodes } from '../codes-fixture.ts';
import { linkOf } from '../../links/table.ts';
import { startTable, type TableStart } from './started-table.ts';

const imageIn = (fixture: CodesFixture): string => join(fixture.app.dataDir, 'links.image');

async function start(
  fixture: CodesFixture,
  more: Pick<TableStart, 'onPiece' | 'monotonicMs' | 'localTransaction'> = {},
) {
  const openTable = (links: LinkWriter): Codes => fixture.open({ links });
  const { store, app } = fixture;
  return await startTable({ store, folder: app.dataDir, openCodes: openTable, ...more });
}

const target = (no: number): string => `https://example.com/${no}`;
const seen = (no: number, left = -1): string => `${target(no)} ${left}`;

/** Five codes, one of each kind, and an image of them. */
async function written() {
  const fixture = await openCodes();
  const first = await start(fixture);
  const { codes } = first;
  const make = async (slug: string, more: object = {}) =>
    await codes.create(actor, { target: target(1), slug, ...more });
  const [plain, moved, limited, ended] = [
    await make('plain'),
    await make('moved'),
    await make('limited', { scanLimit: 9 }),
    await make('ended'),
  ];
  codes.links.loadLimited();
  await codes.delete(actor, ended.id);
  expect(await first.image.write()).toBe(true);
  return { fixture, ...first, plain, moved, limited, make };
}

test('it is loaded, and then what has changed since', async () => {
  const { fixture, codes, moved, plain, limited, make } = await written();
  await codes.change(actor, moved.id, { target: target(2) });
  await codes.delete(actor, plain.id);
  await make('newer');
  await make('few', { scanLimit: 2 });
  fixture.scans.set(limited.no, 4);
  const again = await start(fixture);
  expect(again.isFromImage).toBe(true);
  const names = ['plain', 'moved', 'ended', 'newer', 'other'];
  const expected = ['deleted', seen(2), 'deleted', seen(1), 'unknown'];
  expect(names.map((name) => again.see(name))).toEqual(expected);
  // What limited codes have left is not known before all is counted.
  expect([again.see('limited'), again.see('few')]).toEqual(['deleted', 'deleted']);
  expect(await again.image.write()).toBe(false);
  again.codes.links.loadLimited();
  expect([again.see('limited'), again.see('few')]).toEqual([seen(1, 5), seen(1, 2)]);
  await again.codes.change(actor, limited.id, { scanLimit: 10 });
  expect(again.see('limited')).toBe(seen(1, 6));
  expect(await again.image.write()).toBe(true);
  const third = await start(fixture);
  third.codes.links.loadLimited();
  expect([third.isFromImage, third.see('limited'), third.see('moved')]).toEqual([
    true,
    seen(1, 6),
    seen(2),
  ]);
});

test('where another machine numbers the changes, it is bound to the store without a number', async () => {
  const { fixture, codes, moved } = await written();
  const { store } = fixture;
  const number = store.last('link');
  let transactions = 0;
  const localTransaction = async (work: () => boolean): Promise<boolean> => {
    transactions++;
    return await store.environment.transaction(work);
  };
  const node = await start(fixture, { localTransaction });
  node.codes.links.loadLimited();
  expect(await node.image.write()).toBe(true);
  expect([transactions, store.last('link')]).toEqual([1, number]);
  await codes.change(actor, moved.id, { target: target(2) });
  const again = await start(fixture, { localTransaction });
  expect([again.isFromImage, again.see('moved')]).toEqual([true, seen(2)]);
  // Without any change nothing says that links were not changed since.
  const empty = await openCodes();
  const first = await start(empty, { localTransaction });
  expect(await first.image.write()).toBe(false);
});

test('it is right when links change at every piece of the writing', async () => {
  const fixture = await openCodes();
  let no = 0;
  const change = async (): Promise<void> => {
    no += 1;
    await first.codes.create(actor, { target: target(no), slug: `made-${no}` });
    await first.codes.change(actor, code.id, { target: target(no) });
  };
  const first = await start(fixture, { onPiece: change });
  const code = await first.codes.create(actor, { target: target(0), slug: 'code' });
  first.codes.links.loadLimited();
  expect(await first.image.write()).toBe(true);
  expect(no).toBeGreaterThan(2);
  const again = await start(fixture);
  expect([again.isFromImage, again.see('code'), again.see('made-1')]).toEqual([
    true,
    seen(no),
    seen(1),
  ]);
});

test('a damaged, unknown or missing file, or one cut short, is a start without it, in one log line', async () => {
  const { fixture, codes, moved } = await written();
  await codes.change(actor, moved.id, { target: target(2) });
  const path = imageIn(fixture);
  const sound = readFileSync(path);
  const flipped = Buffer.from(sound);
  flipped[100] = 255 - flipped[100]!;
  const other = await openCodes();
  const another = await start(other);
  await another.codes.create(actor, { target: target(7), slug: 'moved' });
  await another.image.write();
  for (const bytes of [flipped, sound.subarray(0, 5_000), readFileSync(imageIn(other))]) {
    writeFileSync(path, bytes);
    const again = await start(fixture);
    again.codes.links.loadLimited();
    expect([again.isFromImage, again.warnings.length]).toEqual([false, 1]);
    expect([again.see('moved'), again.see('limited')]).toEqual([seen(2), seen(1, 9)]);
  }
  rmSync(path);
  expect(await start(fixture)).toMatchObject({ isFromImage: false, warnings: [] });
});

test('a file whose row is older, or whose row is gone, is not used', async () => {
  const { fixture, image, codes, moved } = await written();
  const path = imageIn(fixture);
  copyFileSync(path, `${path}.older`);
  await codes.change(actor, moved.id, { target: target(2) });
  await image.write();
  renameSync(`${path}.older`, path);
  const again = await start(fixture);
  expect([again.isFromImage, again.see('moved')]).toEqual([false, seen(2)]);
});

test('a service of an older release that ran since removes the numbers, from the oldest on', async () => {
  const { fixture, moved } = await written();
  const { store } = fixture;
  const [oldest = 0] = store.bulk.linkChanges.keys({ start: 0 });
  await store.environment.transaction(() => store.bulk.linkChanges.remove(oldest));
  // It numbers nothing.
  const put = vi.spyOn(store.bulk.linkChanges, 'put').mockReturnValue(undefined);
  const next = vi.spyOn(store, 'next').mockReturnValue(0);
  await fixture.open({}).change(actor, moved.id, { target: target(2) });
  put.mockRestore();
  next.mockRestore();
  const again = await start(fixture);
  expect([again.isFromImage, again.see('moved')]).toEqual([false, seen(2)]);
});

test('with a number missing, or more than are kept, it is not used', async () => {
  const { fixture, codes, moved } = await written();
  const { environment, bulk, meta } = fixture.store;
  await codes.change(actor, moved.id, { target: target(2) });
  const last = fixture.store.last('link');
  await codes.change(actor, moved.id, { target: target(3) });
  await environment.transaction(() => bulk.linkChanges.remove(last));
  expect((await start(fixture)).isFromImage).toBe(false);
  await environment.transaction(() => bulk.linkChanges.put(last, moved.no));
  expect((await start(fixture)).isFromImage).toBe(true);
  await environment.transaction(() => meta.put('next:link', last + linkChangesKept));
  expect((await start(fixture)).isFromImage).toBe(false);
});

test('a limited code without a stored link is a start without the image', async () => {
  const { fixture, limited } = await written();
  const { environment, links, codes } = fixture.store;
  await environment.transaction(() => {
    links.remove(limited.no >>> 4);
    codes.remove(limited.no);
  });
  const again = await start(fixture);
  expect([again.warnings.length, again.see('plain')]).toEqual([1, 'unknown']);
});

test('it is written where there are 100,000 links and no image, and after 50,000 changes, five minutes apart', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const fixture = await openCodes();
  let nowMs = 0;
  const { image, writer, codes } = await start(fixture, { monotonicMs: () => nowMs });
  const made = vi.spyOn(image, 'write');
  const writes = async (ms: number): Promise<number> => {
    made.mockClear();
    for (const end = nowMs + ms; nowMs < end;) {
      nowMs += 10_000;
      await vi.advanceTimersByTimeAsync(10_000);
      await Promise.all(made.mock.results.map(({ value }) => value));
    }
    return made.mock.calls.length;
  };
  codes.links.loadLimited();
  image.start();
  expect(await writes(60_000)).toBe(0);
  for (let no = 0; no < 100_000; no++) writer.put(linkOf(`N${no}`, { codeNo: no }));
  expect(await writes(60_000)).toBe(1);
  expect(existsSync(imageIn(fixture))).toBe(true);
  expect(await writes(600_000)).toBe(0);
  const { meta, environment, bulk, last } = fixture.store;
  const pass = async (changes: number): Promise<void> =>
    await environment.transaction(() => {
      const numbers = [...bulk.linkChanges.keys({})];
      for (const number of numbers) bulk.linkChanges.remove(number);
      meta.put('next:link', last('link') + 1 + changes);
    });
  await pass(49_000);
  expect(await writes(60_000)).toBe(0);
  await pass(1_000);
  expect(await writes(20_000)).toBe(1);
  await pass(60_000);
  expect(await writes(280_000)).toBe(0);
  expect(await writes(60_000)).toBe(1);
  // Without its row the file is no image, so the next is due.
  await pass(60_000);
  const full = new Failure('storage_full', 'The disk is full');
  vi.spyOn(environment, 'transaction').mockRejectedValueOnce(full);
  expect(await writes(300_000)).toBe(1);
  expect(await writes(60_000)).toBe(1);
  expect(await writes(600_000)).toBe(0);
  await image.stop();
});

test('killed at any piece of the writing, and before the row, the next start has every target', async () => {
  const { fixture, moved, codes } = await written();
  const { dataDir } = fixture.app;
  const worker = new URL('./killed-image.worker.ts', import.meta.url);
  const path = join(dataDir, 'management.mdb');
  for (const moment of ['0', '1', '2', '4', 'row']) {
    await codes.change(actor, moved.id, { target: target(2) });
    const args = [path, dataDir, moved.id, moment, JSON.stringify(actor)];
    const child = fork(worker, args, { execArgv: [] });
    const [, signal] = await once(child, 'exit');
    expect([moment, signal]).toEqual([moment, 'SIGKILL']);
    fixture.store.environment.refresh();
    const expected = fixture.codes.get(actor.workspaceNo, moved.id).target;
    const again = await start(fixture);
    again.codes.links.loadLimited();
    const names = ['plain', 'moved', 'limited', 'ended'];
    expect(names.map((name) => again.see(name))).toEqual([
      seen(1),
      `${expected} -1`,
      seen(1, 9),
      'deleted',
    ]);
    // The older image counts until the new one has taken its name.
    expect(again.isFromImage).toBe(moment !== 'row');
  }
});
